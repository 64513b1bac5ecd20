"""Selecting the policy to return from all policies of a run, without the true reward."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common.pytrees import where
from ilfo.common.types import Normaliser, Rollout
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.occupancy import by_age
from ilfo.policies.base import AbstractPolicy


class Choice(eqx.Module):
    """The policy with the lowest value so far."""

    policy: AbstractPolicy
    value: Float[Array, ""]
    """The lowest value so far: its own, or with `or_tied` one that noise does not tell from it."""
    iteration: Int[Array, ""]
    """The iteration it is from; -1 before any."""

    @staticmethod
    def none_yet(policy: AbstractPolicy) -> "Choice":
        return Choice(policy, jnp.array(jnp.inf, jnp.float32), jnp.array(-1, jnp.int32))

    def or_better(self, policy: AbstractPolicy, value: Array, iteration: Array) -> "Choice":
        """The policy instead, if its value is lower than any before."""
        return where(value < self.value, Choice(policy, value, iteration), self)

    def or_tied(
        self, policy: AbstractPolicy, value: Array, iteration: Array, floor: Array
    ) -> "Choice":
        """The policy instead, unless its distance is larger than the smallest one so far by more
        than noise: the squares of two estimates differ by about floor² even if they estimate the
        same. `value` stays the smallest, so that ties cannot add up."""
        smallest = jnp.minimum(value, self.value)
        tied = value**2 <= smallest**2 + floor**2
        newest = Choice(policy, smallest, iteration)
        return where(tied, newest, eqx.tree_at(lambda c: c.value, self, smallest))


class Average(eqx.Module):
    """The mean of the policies that have acted, weight by weight, and of what was measured of them.

    Presumably this works because TRPO's steps are short; that was not tested.
    """

    policy: AbstractPolicy
    value: Float[Array, ""]
    count: Int[Array, ""]

    @staticmethod
    def of_none(policy: AbstractPolicy) -> "Average":
        """Before any policy has acted; `policy` only says what kind they are of."""
        return Average(policy, jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32))

    def joined_by(self, policy: AbstractPolicy, value: Array, share: float) -> "Average":
        """With one more policy, which has that share; all count the same until there are 1/share
        of them. The scales of the states are the newest policy's."""
        count = self.count + 1
        new_share = jnp.maximum(share, 1 / count)
        is_normaliser = lambda node: isinstance(node, Normaliser)

        def mean(old, new):
            return (1 - new_share) * old + new_share * new if eqx.is_inexact_array(new) else new

        averaged = jax.tree.map(
            lambda old, new: new if is_normaliser(new) else mean(old, new),
            self.policy,
            policy,
            is_leaf=is_normaliser,
        )
        return Average(averaged, mean(self.value, value), count)


class Pooled(eqx.Module):
    """Features of a policy's real states, pooled over the last iterations: each iteration before
    the newest counts `keep` times as much as the one after it."""

    total: Float[Array, " D"]
    time: Float[Array, ""]
    """Sum of the weights in `total`."""
    weight: Float[Array, ""]
    squares: Float[Array, ""]
    """Sums of the streams' weights and of their squares."""

    @staticmethod
    def of_none(size: int) -> "Pooled":
        zero = jnp.zeros(())
        return Pooled(jnp.zeros(size), zero, zero, zero)

    def joined_by(
        self, total: Float[Array, " D"], time: Float[Array, ""], streams: int, keep: float
    ) -> "Pooled":
        """With the features of new streams."""
        return Pooled(
            keep * self.total + total,
            keep * self.time + time,
            keep * self.weight + streams,
            keep**2 * self.squares + streams,
        )

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
