"""The policy to return, of all that a run has had, chosen without the true reward."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.occupancy import by_age
from ilfo.policies.base import AbstractPolicy
from ilfo.trees import where
from ilfo.types import Rollout


class Choice(eqx.Module):
    policy: AbstractPolicy
    value: Float[Array, ""]
    """What the choice was made by; the lowest wins."""
    iteration: Int[Array, ""]
    """When it was made; -1 before any."""

    @staticmethod
    def none_yet(policy: AbstractPolicy) -> "Choice":
        return Choice(policy, jnp.array(jnp.inf, jnp.float32), jnp.array(-1, jnp.int32))

    def or_better(self, policy: AbstractPolicy, value: Array, iteration: Array) -> "Choice":
        """The policy instead, if its value is lower than any before."""
        return where(value < self.value, Choice(policy, value, iteration), self)


def real_mmd(
    spec: AbstractDiscriminator, fitted: Any, rollout: Rollout, expert_mean: Float[Array, " D"]
) -> Float[Array, ""]:
    """Distance of a policy's real states from the demonstrated ones, time behind endings
    included. The samples were collected anyway."""
    features = jax.vmap(jax.vmap(fitted.features))(rollout.state, rollout.next_state)
    total, time = spec.total_features(features, rollout, by_age(rollout))
    return fitted.distance(total / time, expert_mean)
