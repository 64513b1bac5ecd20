"""Learning curves of several seeds as one line with its interval."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ilfo.common.statistics import interval, on_grid
from ilfo.experiments.results import best_by_reward, score_curve

BAND = 500
"""Bootstrap samples per point of a curve."""
FEW = 3
"""Seeds below which there is no interval."""


class Line(NamedTuple):
    """Mean over seeds; a method without online samples has one value instead of a curve."""

    places: np.ndarray
    """(n,) environment steps or seconds of training; empty for one value."""
    mean: np.ndarray
    """(n,), or (1,) for one value."""
    low: np.ndarray | None
    """95 % interval of the mean; None for few seeds."""
    high: np.ndarray | None
    seeds: int

    @property
    def flat(self) -> bool:
        return not len(self.places)


def greedy_line(records: Sequence[dict[str, Any]], over: str = "online_samples") -> Line | None:
    """Greedy scores over environment steps or `seconds`; None if no record has a curve."""
    chosen = lambda record: record["result"]["greedy_score"]
    return _line(records, lambda scores: scores, chosen, over)


def running_line(records: Sequence[dict[str, Any]]) -> Line | None:
    """The best greedy score so far; None if no record has a curve."""
    return _line(records, lambda scores: np.maximum.accumulate(scores, axis=1), best_by_reward)


def _line(
    records: Sequence[dict[str, Any]],
    transform: Callable[[np.ndarray], np.ndarray],
    level: Callable[[dict[str, Any]], float | None],
    over: str = "online_samples",
) -> Line | None:
    measured = [record for record in records if len(score_curve(record))]
    if not measured:
        return None
    curves = [score_curve(record, over=over) for record in measured]
    if any(curve[:, 0].any() for curve in curves):
        places, scores = on_grid(curves)
        values = transform(scores)
    else:
        places = np.empty(0)
        values = np.array([[level(record)] for record in measured], float)
    low, high = None, None
    if len(measured) >= FEW:
        low, high = np.transpose([interval(column, draws=BAND) for column in values.T])
    return Line(places, values.mean(0), low, high, len(measured))
