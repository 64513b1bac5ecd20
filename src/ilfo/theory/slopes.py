"""Rates of growth: slopes on log-log axes, with intervals."""

from typing import NamedTuple

import numpy as np


class Slope(NamedTuple):
    """A slope with its 95 % interval."""

    value: float
    low: float
    high: float


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares slope of ln y on ln x; `y` may have leading axes."""
    logs = np.log(np.asarray(x, float))
    logs = logs - logs.mean()
    return (np.log(np.maximum(y, 1e-12)) @ logs) / (logs @ logs)


def slope_with_interval(x: np.ndarray, y: np.ndarray, draws: np.ndarray) -> Slope:
    """The slope of `y` (n,), with the middle 95 % of the slopes of `draws` (B, n)."""
    low, high = np.percentile(slope(x, draws), [2.5, 97.5])
    return Slope(float(slope(x, y)), float(low), float(high))


def normal_draws(
    mean: np.ndarray, error: np.ndarray, rng: np.random.Generator, count: int = 1000
) -> np.ndarray:
    """(B, …): normal samples around `mean` with standard error `error`, kept positive."""
    drawn = mean + error * rng.normal(size=(count, *mean.shape))
    return np.maximum(drawn, 1e-9 + 1e-3 * np.abs(mean))


def bootstrap_draws(values: np.ndarray, rng: np.random.Generator, count: int = 1000) -> np.ndarray:
    """(B, …): means over bootstrap samples of `values` (repetitions, …)."""
    index = rng.integers(len(values), size=(count, len(values)))
    return np.stack([values[rows].mean(0) for rows in index])
