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

from ilfo.dynamics.base import AbstractModel
from ilfo.environments.spaces import ActionSpace
from ilfo.evaluate import Episode
from ilfo.types import Normaliser

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
    taken = [jnp.asarray(actions.from_environment(episode.actions)) for episode in episodes]
    predict = eqx.filter_jit(_predict)
    found = []
    for ahead in steps:
        errors, moves = [], []
        for episode, acts in zip(episodes, taken, strict=True):
            starts = np.arange(0, len(acts) - ahead + 1, STRIDE)
            if len(starts):
                rows = starts[:, None] + np.arange(ahead)
                first, last = episode.states[starts], episode.states[starts + ahead]
                away = predict(model, jnp.asarray(first), acts[rows]) - last
                errors.append(np.asarray(away / scales.scale))
                moves.append(np.asarray((first - last) / scales.scale))
        if errors:
            found.append(Foresight(ahead, _middle(errors), _middle(moves)))
    return found


def _predict(
    model: AbstractModel, first: Float[Array, "n S"], actions: Array
) -> Float[Array, "n S"]:
    """The states at the end of each row of actions."""
    step = lambda states, acts: (jax.vmap(model.mean)(states, acts), None)
    return jax.lax.scan(step, first, jnp.swapaxes(actions, 0, 1))[0]


def _middle(parts: list[np.ndarray]) -> float:
    """Median over the rows (n, S) of their root mean square."""
    return float(np.median(np.sqrt((np.concatenate(parts) ** 2).mean(1))))
