"""Confidence intervals over seeds."""

from collections.abc import Sequence

import numpy as np


def interval(values: Sequence[float], *, draws: int = 10_000) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean."""
    data = np.asarray(values, float)
    index = np.random.default_rng(0).integers(len(data), size=(draws, len(data)))
    low, high = np.percentile(data[index].mean(1), [2.5, 97.5])
    return float(low), float(high)
