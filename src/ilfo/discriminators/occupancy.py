"""Weights of steps, and of the time after termination, in the mean features E ψ.

E ψ is an average over the ages 0 … H-1 of an episode. An episode that terminated after n steps
spends the other H - n ages in an absorbing state. A truncated episode says nothing about its later
ages. If a stream is truncated at a fixed time and every step counts once, terminated episodes count
up to the horizon but truncated ones only as far as they went: the weight of the absorbing state
then depends on how episodes turned out, which biases E ψ. So each age is averaged over the episodes
that could have been observed at that age, whether they had terminated before or not.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.types import DemonstratedSteps, Rollout


class Occupancy(NamedTuple):
    """Weights of a rollout's steps; N streams, T steps."""

    step: Float[Array, "N T"]
    """Weight of each step; 0 for invalid steps."""
    after_termination: Float[Array, "N T"]
    """Weight of the time after a step, for steps that ended the episode."""


def recorded(rollout: Rollout, horizon: int) -> Occupancy:
    """For demonstrations: every step counts once, and termination up to the horizon.

    When a recording was truncated is unknown, and demonstrations that are larger than memory cannot
    be counted by age. For recordings truncated at the horizon it makes no difference.
    """
    left = (horizon - 1 - rollout.elapsed).clip(min=0)
    return Occupancy(rollout.valid.astype(jnp.float32), left.astype(jnp.float32))


def by_age(rollout: Rollout) -> Occupancy:
    """For streams of one horizon each: every age counts the same.

    An episode that began at time s of T can be observed at ages below T - s.
    """
    steps = rollout.valid.shape[1]
    starts = ((rollout.elapsed == 0) & rollout.valid).sum(0)
    observable = jnp.cumsum(starts)[::-1]  # at age a: episodes that began before T - a
    weight = 1.0 / jnp.maximum(observable, 1)
    until = jnp.concatenate([jnp.zeros(1), jnp.cumsum(weight)])  # total weight of younger ages
    last = steps - (jnp.arange(steps) - rollout.elapsed)
    return Occupancy(
        jnp.where(rollout.valid, weight[rollout.elapsed], 0.0),
        until[last] - until[rollout.elapsed + 1],
    )


def sampled_occupancy(
    steps: DemonstratedSteps, horizon: int
) -> tuple[Float[Array, " n"], Float[Array, ""]]:
    """Of a sample of demonstrated steps: the weight of each, and the share of time that episodes
    spend after termination."""
    counts = steps.elapsed < horizon
    absorbed = ((steps.terminal & counts) * (horizon - 1 - steps.elapsed)).sum()
    return counts.astype(jnp.float32), absorbed / (absorbed + counts.sum())
