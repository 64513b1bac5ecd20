"""The learned environment in which a policy is improved, and where its trajectories begin."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.bonus import FittedBonus
from ilfo.buffer import Buffer
from ilfo.dynamics.base import AbstractModel
from ilfo.environments.spaces import ActionSpace
from ilfo.expert import Expert
from ilfo.policies.base import AbstractPolicy
from ilfo.rollout import imagine
from ilfo.termination import AbstractRule
from ilfo.types import Normaliser, Rollout


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
    if expert.reached is not None:
        radius = jnp.maximum(radius, norm(expert.reached).max())
    return multiple * radius


def draw_starts(
    buffer: Buffer, expert: Expert, count: int, expert_share: float, *, key: Array
) -> tuple[Float[Array, "N S"], Bool[Array, " N"]]:
    """Reset states, and a share of demonstrated ones; the mask tells which are reset states."""
    reset_key, expert_key = jax.random.split(key)
    starts = buffer.starts.sample(count, key=reset_key)
    # rounding must not borrow them all: the discriminator needs some that are the policy's own
    borrowed = min(round(expert_share * count), count - 1)
    if expert.starts is None or not borrowed:
        return starts, jnp.ones(count, bool)
    index = jax.random.randint(expert_key, (borrowed,), 0, expert.starts.shape[0])
    starts = starts.at[count - borrowed :].set(expert.starts[index])
    return starts, jnp.arange(count) < count - borrowed
