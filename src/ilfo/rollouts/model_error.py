"""Does the model predict? Real episodes once more, inside it.

From states along an episode the model follows the actions that were really taken. Its error after
k steps is the root mean square over the state's numbers, each in deviations of the episodes' own
states, and of all starts the median, since a few predictions may run away. It stands beside the
error of expecting no change at all.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Normaliser
from ilfo.dynamics.base import AbstractModel
from ilfo.rollouts.episodes import Episode

STEPS = (1, 5, 20, 50)
STRIDE = 5
"""Steps from one start of a prediction to the next, along an episode."""


class Foresight(NamedTuple):
    steps: int
    """Predicted in a row."""
    error: float
    """In deviations."""
    unchanged: float
    """The same of who expects the first state for ever."""


def foresight(
    model: AbstractModel,
    actions: ActionSpace,
    episodes: Sequence[Episode],
    steps: Sequence[int] = STEPS,
) -> list[Foresight]:
    """By number of steps, as far as any episode goes."""
    visited = jnp.concatenate([jnp.asarray(episode.states) for episode in episodes])
    scales = Normaliser.fit(visited, jnp.ones(len(visited)))
    taken = [actions.from_environment(episode.actions) for episode in episodes]
    found = []
    for ahead in steps:
        first, acts, last = [], [], []
        for episode, each in zip(episodes, taken, strict=True):
            starts = np.arange(0, len(each) - ahead + 1, STRIDE)
            first.append(episode.states[starts])
            acts.append(each[starts[:, None] + np.arange(ahead)])
            last.append(episode.states[starts + ahead])
        begun, reached = np.concatenate(first), np.concatenate(last)
        if len(begun):
            predicted = _predict(model, jnp.asarray(begun), jnp.asarray(np.concatenate(acts)))
            middle = lambda states, end=reached: _middle((states - end) / scales.scale)
            found.append(Foresight(ahead, middle(predicted), middle(begun)))
    return found


@eqx.filter_jit
def _predict(
    model: AbstractModel, first: Float[Array, "n S"], actions: Array
) -> Float[Array, "n S"]:
    """The states at the end of each row of actions."""
    step = lambda states, acts: (jax.vmap(model.mean)(states, acts), None)
    return jax.lax.scan(step, first, jnp.swapaxes(actions, 0, 1))[0]


def _middle(errors: Float[Array, "n S"]) -> float:
    """Median over the rows of their root mean square."""
    return float(np.median(np.sqrt((np.asarray(errors) ** 2).mean(1))))
