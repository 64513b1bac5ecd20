"""What recordings show by themselves: their noise, and how many whole episodes they are worth."""

from collections.abc import Iterable
from math import comb

import numpy as np

from ilfo.data.trajectory import Trajectory

ORDERS = range(1, 7)
"""Differences of these orders are looked at."""
MEDIAN_OF_NORMAL = 0.6745
"""Median of |x| for a standard normal x."""
FEWEST = 20
"""Differences below which nothing is estimated."""


def noise_share(trajectories: Iterable[Trajectory]) -> float | None:
    """Standard deviation of the noise as a share of that of the states, in the smoothest
    dimension; None if there are too few states.

    The k-th difference of a smooth signal is small, that of white noise σ has the variance
    σ² · Σ binomial(k, i)². Their medians bound σ from above, the closer the smoother the signal is:
    the smallest over the orders k and the dimensions is taken. Noise that some dimensions do not
    have is therefore not found, and neither is noise that changes slowly.
    """
    rows = [trajectory.states.astype(np.float64) for trajectory in trajectories]
    spread = np.concatenate(rows).std(0)
    moving = spread > 0
    bounds = [_bound(rows, order) for order in ORDERS]
    known = [bound[moving] / spread[moving] for bound in bounds if bound is not None]
    if not known or not moving.any():
        return None
    share = min(float(np.min(known)), 0.99)
    return share / np.sqrt(1 - share**2)  # the spread has the noise in it


def _bound(rows: list[np.ndarray], order: int) -> np.ndarray | None:
    """Of each dimension: upper bound of the noise's standard deviation by one order."""
    differences = [np.diff(states, order, axis=0) for states in rows if len(states) > order]
    if sum(map(len, differences)) < FEWEST:
        return None
    scale = np.sqrt(sum(comb(order, i) ** 2 for i in range(order + 1)))
    return np.median(np.abs(np.concatenate(differences)), axis=0) / scale / MEDIAN_OF_NORMAL


def effective_episodes(
    trajectories: Iterable[Trajectory], every: int, horizon: int, clips: bool
) -> float:
    """How many whole episodes the recordings are worth: a repeated one counts once, a clip, and
    what was truncated before the horizon, for the share of an episode that it shows."""
    seen: set[bytes] = set()
    total = 0.0
    for trajectory in trajectories:
        key = trajectory.states.tobytes()
        if key in seen:
            continue
        seen.add(key)
        whole = trajectory.terminal and not clips
        steps = every * (len(trajectory.states) - 1)
        total += 1.0 if whole else min(steps / horizon, 1.0)
    return total
