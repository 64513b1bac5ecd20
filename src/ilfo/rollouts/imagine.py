"""The learned environment in which a policy is improved, and where its trajectories begin."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common.buffer import Buffer
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Expert, Normaliser, Rollout
from ilfo.dynamics.base import AbstractModel
from ilfo.dynamics.bonus import FittedBonus
from ilfo.dynamics.termination import AbstractRule
from ilfo.policies.base import AbstractPolicy

STARTS = 5_000
"""Demonstrated states that imagined trajectories may begin in."""


class World(eqx.Module):
    model: AbstractModel
    rule: AbstractRule
    bonus: FittedBonus
    normaliser: Normaliser
    radius: Float[Array, ""]
    """Normalised norm beyond which the model is not believed."""

    def imagine(
        self,
        policy: AbstractPolicy,
        actions: ActionSpace,
        starts: Float[Array, "N S"],
        horizon: int,
        *,
        key: Array,
    ) -> Rollout:
        """A trajectory of the policy from each start."""
        region = (self.normaliser, self.radius)
        return imagine(policy, self.model, self.rule, actions, starts, region, horizon, key=key)

    def bonuses(self, actions: ActionSpace, rollout: Rollout) -> Float[Array, "N T"]:
        """What each step earns for going where little is known."""
        executed = jax.vmap(jax.vmap(actions.execute))(rollout.action)
        return self.bonus(jax.vmap(jax.vmap(self.model.uncertainty))(rollout.state, executed))


def trusted_radius(
    normaliser: Normaliser, buffer: Buffer, expert: Expert, multiple: float
) -> Float[Array, ""]:
    """A multiple of the largest normalised norm that was visited or demonstrated."""
    norm = lambda x: jnp.sqrt((normaliser(x) ** 2).sum(-1))
    radius = jnp.where(buffer.recent.valid, norm(buffer.recent.items.next_state), 0).max()
    if expert.shows_states:
        radius = jnp.maximum(radius, norm(expert.steps.after).max())
    return multiple * radius


def draw_starts(
    buffer: Buffer, expert: Expert, count: int, expert_share: float, *, key: Array
) -> tuple[Float[Array, "N S"], Bool[Array, " N"]]:
    """Reset states, and a share of demonstrated ones; the mask tells which are reset states."""
    reset_key, expert_key = jax.random.split(key)
    starts = buffer.starts.sample(count, key=reset_key)
    # rounding must not borrow them all: the discriminator needs some that are the policy's own
    borrowed = min(round(expert_share * count), count - 1)
    if not expert.shows_states or not borrowed:
        return starts, jnp.ones(count, bool)
    demonstrated = expert.steps.before[:STARTS]
    index = jax.random.randint(expert_key, (borrowed,), 0, demonstrated.shape[0])
    starts = starts.at[count - borrowed :].set(demonstrated[index])
    return starts, jnp.arange(count) < count - borrowed


def imagine(
    policy: AbstractPolicy,
    model: AbstractModel,
    rule: AbstractRule,
    actions: ActionSpace,
    starts: Float[Array, "N S"],
    region: tuple[Normaliser, Float[Array, ""]],
    horizon: int,
    *,
    key: Array,
) -> Rollout:
    """Let the policy act in the model, one trajectory of `horizon` steps from each start.

    A trajectory ends when `rule` says so, or runs away when its normalised norm leaves `region`
    (normaliser, radius) or is not a number; what follows is marked invalid. Each trajectory
    follows one member of the model: number i the member i mod M.
    """
    normaliser, radius = region

    def trajectory(hypothesis: AbstractModel, start: Float[Array, " S"], key: Array):
        def step(state: Float[Array, " S"], randomness):
            noise, model_key = randomness
            action = policy.distribution(state).sample(noise)
            reached = hypothesis.sample(state, actions.execute(action), key=model_key)
            inside = ((normaliser(reached) ** 2).sum() <= radius**2) & jnp.isfinite(reached).all()
            reached = jnp.where(inside, reached, state)
            return reached, (state, action, reached, inside)

        act_key, model_key = jax.random.split(key)
        noise = policy.distribution(start).noise(horizon, key=act_key)
        return jax.lax.scan(step, start, (noise, jax.random.split(model_key, horizon)))[1]

    # Dealt out by member, each one's networks see their own trajectories, all at once, and no
    # others. Endings are found afterwards: inside the loop every small operation counts.
    count, members = starts.shape[0], model.members
    lanes = jnp.arange(-(-count // members) * members).reshape(-1, members).T % count
    keys = jax.random.split(key, count)
    dealt = jax.vmap(
        lambda index, lane: jax.vmap(functools.partial(trajectory, model.member(index)))(
            starts[lane], keys[lane]
        )
    )(jnp.arange(members), lanes)
    in_order = lambda x: x.swapaxes(0, 1).reshape(-1, *x.shape[2:])[:count]
    state, action, reached, inside = jax.tree.map(in_order, dealt)
    terminal = inside & jax.vmap(jax.vmap(rule))(reached)
    ended = terminal | ~inside
    valid = jnp.cumsum(ended, axis=1) - ended == 0
    cut = jnp.zeros_like(valid).at[:, -1].set(valid[:, -1] & ~ended[:, -1])
    elapsed = jnp.broadcast_to(jnp.arange(horizon), valid.shape)
    return Rollout(state, action, reached, terminal & valid, ~inside & valid, cut, valid, elapsed)
