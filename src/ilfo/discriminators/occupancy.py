"""How much each step of a rollout, and the time behind its endings, counts in E ψ.

E ψ is an average over the ages 0 … H-1 of an episode. An episode that ended after n steps spends
the other H - n ages in an absorbing state. One that was merely cut off says nothing about its
rest, and there lies a trap: in a stream that is cut at a fixed time, endings that were seen would
count up to the horizon while the cut episode beside them counts only as far as it went, and the
absorbing state would be weighed by how episodes turned out. So each age is averaged over the
episodes that could have been observed at that age, whatever became of them.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.types import DemonstratedSteps, Rollout


class Occupancy(NamedTuple):
    step: Float[Array, "N T"]
    """Weight of each step; 0 where it is not valid."""
    behind: Float[Array, "N T"]
    """Weight of the time behind a step, should it have ended the episode."""


def recorded(rollout: Rollout, horizon: int) -> Occupancy:
    """Of demonstrations: every step counts once, endings up to the horizon.

    Whether a recording was cut off is up to who recorded it, and a stream of them larger than
    memory cannot be counted by age; recordings cut at the horizon make no difference.
    """
    left = (horizon - 1 - rollout.elapsed).clip(min=0)
    return Occupancy(rollout.valid.astype(jnp.float32), left.astype(jnp.float32))


def by_age(rollout: Rollout) -> Occupancy:
    """Of streams of one horizon each: every age counts the same.

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
