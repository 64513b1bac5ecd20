"""Selecting the policy to return from all policies of a run, without the true reward."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common.pytrees import where
from ilfo.common.types import Rollout
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.occupancy import by_age
from ilfo.policies.base import AbstractPolicy


class Choice(eqx.Module):
    """The policy with the lowest value so far, or one that noise does not tell from it."""

    policy: AbstractPolicy
    value: Float[Array, ""]
    """Its own value; infinite if it was not measured."""
    smallest: Float[Array, ""]
    """The lowest value so far, of any policy."""
    iteration: Int[Array, ""]
    """The iteration it is from; -1 before any."""

    @staticmethod
    def unmeasured(policy: AbstractPolicy, iteration: Array) -> "Choice":
        """A policy to return as long as nothing else is known."""
        unknown = jnp.array(jnp.inf, jnp.float32)
        return Choice(policy, unknown, unknown, iteration)

    @staticmethod
    def none_yet(policy: AbstractPolicy) -> "Choice":
        return Choice.unmeasured(policy, jnp.array(-1, jnp.int32))

    def or_better(self, policy: AbstractPolicy, value: Array, iteration: Array) -> "Choice":
        """The policy instead, if its value is lower than any before."""
        return where(value < self.smallest, Choice(policy, value, value, iteration), self)

    def or_tied(
        self, policy: AbstractPolicy, value: Array, iteration: Array, noise: Array
    ) -> "Choice":
        """The policy instead, unless its squared distance is larger than the smallest one so far by
        more than noise. The comparison is always with the smallest, so that ties cannot add up."""
        smallest = jnp.minimum(value, self.smallest)
        tied = value**2 <= smallest**2 + noise
        newest = Choice(policy, value, smallest, iteration)
        return where(tied, newest, eqx.tree_at(lambda c: c.smallest, self, smallest))


class Pooled(eqx.Module):
    """Features of a policy's real states, pooled over the last iterations: each iteration before
    the newest counts `keep` times as much as the one after it."""

    total: Float[Array, " D"]
    time: Float[Array, ""]
    """Sum of the weights in `total`."""
    weight: Float[Array, ""]
    squares: Float[Array, ""]
    """Sums of the streams' weights and of their squares."""
    apart: Float[Array, ""]
    """Weighted sum of the streams' own squared distances from the expert."""

    @staticmethod
    def of_none(size: int) -> "Pooled":
        zero = jnp.zeros(())
        return Pooled(jnp.zeros(size), zero, zero, zero, zero)

    def joined_by(
        self,
        total: Float[Array, " D"],
        time: Float[Array, ""],
        distances: Float[Array, " n"],
        keep: float,
    ) -> "Pooled":
        """With the features of n new streams, each at its own distance from the expert."""
        return Pooled(
            keep * self.total + total,
            keep * self.time + time,
            keep * self.weight + distances.size,
            keep**2 * self.squares + distances.size,
            keep * self.apart + (distances**2).sum(),
        )

    def scatter(self, distance: Float[Array, ""]) -> Float[Array, ""]:
        """The variance of a stream's mean features, summed over the features, if the pooled ones
        are at this distance from the expert; 0 if there is but one stream."""
        within = self.apart / jnp.maximum(self.weight, 1e-9) - distance**2
        return jnp.maximum(within, 0.0) / jnp.maximum(1 - 1 / self.episodes, 1 / 3)

    @property
    def mean(self) -> Float[Array, " D"]:
        return self.total / jnp.maximum(self.time, 1e-9)

    @property
    def episodes(self) -> Float[Array, ""]:
        """The number of equally weighted episodes with a mean as noisy as this one; 1 if none."""
        return jnp.maximum(self.weight**2 / jnp.maximum(self.squares, 1e-9), 1.0)


def real_mmd(
    spec: AbstractDiscriminator, fitted: Any, rollout: Rollout, expert_mean: Float[Array, " D"]
) -> Float[Array, ""]:
    """Distance of a policy's real states from the demonstrated ones, time after termination
    included. It needs no samples beyond the rollout."""
    features = jax.vmap(jax.vmap(fitted.features))(rollout.state, rollout.next_state)
    total, time = spec.total_features(features, rollout, by_age(rollout))
    return fitted.distance(total / time, expert_mean)
