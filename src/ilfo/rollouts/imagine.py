"""Imagined rollouts: trajectories of a policy in a learned model, and their start states."""

import functools
from typing import NamedTuple

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
    """A learned environment: dynamics, termination rule, exploration bonus and trusted region."""

    model: AbstractModel
    rule: AbstractRule
    bonus: FittedBonus
    normaliser: Normaliser
    radius: Float[Array, ""]
    """Norm of a normalised state beyond which the model is not trusted."""

    def imagine(
        self,
        policy: AbstractPolicy,
        actions: ActionSpace,
        starts: Float[Array, "N S"],
        horizon: int,
        *,
        key: Array,
    ) -> Rollout:
        """Roll out the policy in the model, one trajectory of `horizon` steps from each start.

        A trajectory ends when the termination rule says so. It runs away when the norm of its
        normalised state exceeds the radius or is not finite. Steps after either are marked as not
        valid. Trajectory i follows member i mod M of the model.
        """

        def trajectory(hypothesis: AbstractModel, start: Float[Array, " S"], key: Array):
            def step(state: Float[Array, " S"], randomness):
                noise, model_key = randomness
                action = policy.distribution(state).sample(noise)
                reached = hypothesis.sample(state, actions.execute(action), key=model_key)
                inside = self.trusts(reached)
                reached = jnp.where(inside, reached, state)
                return reached, (state, action, reached, inside)

            act_key, model_key = jax.random.split(key)
            noise = policy.distribution(start).noise(horizon, key=act_key)
            return jax.lax.scan(step, start, (noise, jax.random.split(model_key, horizon)))[1]

        # Grouped by member, so that each network sees all of its own trajectories at once. Endings
        # are computed afterwards, because inside the loop every small operation costs time.
        count, members = starts.shape[0], self.model.members
        lanes = jnp.arange(-(-count // members) * members).reshape(-1, members).T % count
        keys = jax.random.split(key, count)
        grouped = jax.vmap(
            lambda index, lane: jax.vmap(functools.partial(trajectory, self.model.member(index)))(
                starts[lane], keys[lane]
            )
        )(jnp.arange(members), lanes)
        in_order = lambda x: x.swapaxes(0, 1).reshape(-1, *x.shape[2:])[:count]
        state, action, reached, inside = jax.tree.map(in_order, grouped)
        terminal = inside & jax.vmap(jax.vmap(self.rule))(reached)
        ended = terminal | ~inside
        valid = jnp.cumsum(ended, axis=1) - ended == 0
        elapsed = jnp.broadcast_to(jnp.arange(horizon), valid.shape)
        truncated = valid & ~ended & (elapsed == horizon - 1)
        runaway = ~inside & valid
        return Rollout(state, action, reached, terminal & valid, runaway, truncated, valid, elapsed)

    def trusts(self, state: Float[Array, " S"]) -> Bool[Array, ""]:
        """Whether the model is trusted in a state."""
        return ((self.normaliser(state) ** 2).sum() <= self.radius**2) & jnp.isfinite(state).all()

    def bonuses(self, actions: ActionSpace, rollout: Rollout) -> Float[Array, "N T"]:
        """The exploration bonus of each step."""
        executed = jax.vmap(jax.vmap(actions.execute))(rollout.action)
        return self.bonus(jax.vmap(jax.vmap(self.model.uncertainty))(rollout.state, executed))


def trusted_radius(
    normaliser: Normaliser, buffer: Buffer, expert: Expert, multiple: float
) -> Float[Array, ""]:
    """A multiple of the largest norm of a normalised state, visited or demonstrated."""
    norm = lambda x: jnp.sqrt((normaliser(x) ** 2).sum(-1))
    radius = jnp.where(buffer.recent.valid, norm(buffer.recent.items.next_state), 0).max()
    if expert.shows_states:
        radius = jnp.maximum(radius, norm(expert.steps.after).max())
    return multiple * radius


class Starts(NamedTuple):
    """States in which imagined trajectories begin."""

    states: Float[Array, "N S"]
    judged: Bool[Array, " N"]
    """The discriminator is fitted on the trajectories that begin in these."""


def draw_starts(
    buffer: Buffer, expert: Expert, count: int, expert_share: float, paired: bool, *, key: Array
) -> Starts:
    """A share of demonstrated states; the others are reset states from the buffer.

    If `paired`, half of those others are states in which demonstrations began instead, and the
    discriminator is fitted on these alone. Otherwise, and where demonstrations are clips, which do
    not begin at resets, it is fitted on all that are not of the share.
    """
    reset_key, expert_key = jax.random.split(key)
    starts = buffer.starts.sample(count, key=reset_key)
    # at least one start is left for the discriminator, which needs trajectories from these
    borrowed = min(round(expert_share * count), count - 1)
    own = jnp.arange(count) < count - borrowed
    if not expert.shows_states:
        return Starts(starts, jnp.ones(count, bool))
    if borrowed:
        demonstrated = expert.steps.before[:STARTS]
        index = jax.random.randint(expert_key, (borrowed,), 0, demonstrated.shape[0])
        starts = jnp.concatenate([starts[: count - borrowed], demonstrated[index]])
    if not paired or not expert.from_resets:
        return Starts(starts, own)
    first, some = expert.steps.elapsed == 0, -(-(count - borrowed) // 2)
    logits = jnp.where(first, 0.0, -jnp.inf)
    began = jax.random.categorical(jax.random.fold_in(key, 1), logits, shape=(some,))
    with_first = starts.at[:some].set(expert.steps.before[began])
    # a sample of very long demonstrations may hold none of their first steps
    found = first.any()
    return Starts(
        jnp.where(found, with_first, starts),
        jnp.where(found, jnp.arange(count) < some, own),
    )


def draw_branches(
    buffer: Buffer, expert: Expert, count: int, expert_share: float, *, key: Array
) -> Float[Array, "N S"]:
    """States of the newest transitions, and a share of demonstrated ones."""
    own_key, expert_key = jax.random.split(key)
    starts = buffer.newest().recent.sample(count, key=own_key).state
    borrowed = min(round(expert_share * count), count - 1)
    if not expert.shows_states or not borrowed:
        return starts
    demonstrated = expert.steps.before[:STARTS]
    index = jax.random.randint(expert_key, (borrowed,), 0, demonstrated.shape[0])
    return jnp.concatenate([starts[: count - borrowed], demonstrated[index]])
