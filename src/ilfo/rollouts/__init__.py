"""Trajectories of a policy, in the real environment and in a learned model.

`collect.collect` takes a fixed number of environment steps for training, `Stream` goes on with the
steps of one environment, `play` runs whole episodes for evaluation, and `World` is a learned
environment to imagine trajectories in. `score` compares a return with the expert's, and
`prediction_errors` a model's predictions with real episodes.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.rollouts.episodes import Episode, mean_return, play
    from ilfo.rollouts.imagine import World
    from ilfo.rollouts.model_error import PredictionError, prediction_errors
    from ilfo.rollouts.scores import random_return, score
    from ilfo.rollouts.stream import Stream

__all__ = [
    "Episode",
    "PredictionError",
    "Stream",
    "World",
    "mean_return",
    "play",
    "prediction_errors",
    "random_return",
    "score",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Episode": "episodes",
        "PredictionError": "model_error",
        "Stream": "stream",
        "World": "imagine",
        "mean_return": "episodes",
        "play": "episodes",
        "prediction_errors": "model_error",
        "random_return": "scores",
        "score": "scores",
    },
)
