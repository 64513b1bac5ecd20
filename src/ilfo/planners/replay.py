"""Replay for off-policy learning: a ring of steps with their rewards, and draws from it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common.buffer import Ring
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Transition


class Experience(NamedTuple):
    """Steps with rewards, with any leading axes."""

    transition: Transition
    reward: Float[Array, "*n"]


def empty_replay(state_dim: int, actions: ActionSpace, capacity: int) -> Ring:
    """A ring of `Experience` without any."""
    return Ring.empty(Experience(Transition.zeros(state_dim, actions), jnp.zeros(())), capacity)


def push(replay: Ring, new: Experience) -> Ring:
    """With new steps, in order of time, in the place of the oldest ones if it is full."""
    return replay.push(new, jnp.ones(new.reward.shape, bool))


def draw_slots(replay: Ring, batches: int, size: int, *, key: Array) -> Int[Array, "batches size"]:
    """Slots of random steps, uniformly and with replacement."""
    return jax.random.randint(key, (batches, size), 0, jnp.maximum(replay.count, 1))


def steps_at(replay: Ring, slots: Int[Array, "*n"]) -> Experience:
    """The steps in these slots."""
    return jax.tree.map(lambda x: x[slots], replay.items)
