"""Statistics over seeds: confidence intervals, and curves on a common grid."""

from collections.abc import Sequence

import numpy as np


def interval(values: Sequence[float], *, draws: int = 10_000) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean."""
    data = np.asarray(values, float)
    index = np.random.default_rng(0).integers(len(data), size=(draws, len(data)))
    low, high = np.percentile(data[index].mean(1), [2.5, 97.5])
    return float(low), float(high)


def on_grid(curves: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Places (n,) and values (curves, n), at the points of the first curve up to the end of the
    shortest one, and at that end; a curve is (places, 2)."""
    end = min(curve[-1, 0] for curve in curves)
    grid = np.union1d(curves[0][curves[0][:, 0] <= end, 0], end)
    return grid, np.stack([np.interp(grid, *curve.T) for curve in curves])
