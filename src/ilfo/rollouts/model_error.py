"""Prediction errors of a learned model on real episodes.

Starting from states along an episode, the model predicts k steps ahead with the actions that were
taken. The error of a prediction is the root mean square over the state's dimensions, in standard
deviations of the episodes' states. The median over all starts is reported, because a few
predictions may diverge, beside the error of predicting no change.
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
"""Steps between the starts of two predictions."""


class PredictionError(NamedTuple):
    """Error of predictions over a number of steps."""

    steps: int
    """Steps predicted ahead."""
    error: float
    """Median error of the model, in standard deviations of the states."""
    unchanged: float
    """Median error of predicting that the state does not change."""


def prediction_errors(
    model: AbstractModel,
    actions: ActionSpace,
    episodes: Sequence[Episode],
    steps: Sequence[int] = STEPS,
) -> list[PredictionError]:
    """Prediction errors for each number of steps that is not longer than every episode."""
    visited = jnp.concatenate([jnp.asarray(episode.states) for episode in episodes])
    scales = Normaliser.fit(visited, jnp.ones(len(visited)))
    taken = [actions.from_environment(episode.actions) for episode in episodes]
    errors = []
    for ahead in steps:
        first, acts, last = [], [], []
        for episode, actions_taken in zip(episodes, taken, strict=True):
            starts = np.arange(0, len(actions_taken) - ahead + 1, STRIDE)
            first.append(episode.states[starts])
            acts.append(actions_taken[starts[:, None] + np.arange(ahead)])
            last.append(episode.states[starts + ahead])
        begun, reached = np.concatenate(first), np.concatenate(last)
        if len(begun):
            predicted = _predict(model, jnp.asarray(begun), jnp.asarray(np.concatenate(acts)))
            median = lambda states, end=reached: _median((states - end) / scales.scale)
            errors.append(PredictionError(ahead, median(predicted), median(begun)))
    return errors


@eqx.filter_jit
def _predict(
    model: AbstractModel, first: Float[Array, "n S"], actions: Array
) -> Float[Array, "n S"]:
    """The predicted states after each sequence of actions."""
    step = lambda states, acts: (jax.vmap(model.mean)(states, acts), None)
    return jax.lax.scan(step, first, jnp.swapaxes(actions, 0, 1))[0]


def _median(errors: Float[Array, "n S"]) -> float:
    """Median over rows of the root mean square of a row."""
    return float(np.median(np.sqrt((np.asarray(errors) ** 2).mean(1))))
