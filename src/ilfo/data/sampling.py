"""What training needs to know of the demonstrations, gathered in two streaming passes.

The first pass keeps a fixed-size uniform sample of steps, from which scales, bandwidth, start
states and the largest norm follow; the second sums features. Neither holds more than one
trajectory and the sample, so the set may be larger than memory.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ilfo.common.types import DemonstratedSteps
from ilfo.data.trajectory import Trajectory

SAMPLE = 20_000
"""Demonstrated steps kept for scales, bandwidth and start states."""


def sample(
    trajectories: Iterable[Trajectory], size: int, generator: np.random.Generator
) -> DemonstratedSteps:
    """A uniform sample of steps, all of them where there are at most `size`.

    Every step draws a random rank and the smallest ranks stay: one pass, no knowledge of the
    total. The sample is in order of its ranks, in NumPy arrays; actions are the environment's.
    """
    kept: list[Any] = []
    ranks = np.empty(0)
    for number, trajectory in enumerate(trajectories):
        new = _columns(trajectory, number)
        if kept and (kept[1] is None) != (new[1] is None):
            raise ValueError("some of the demonstrations hold actions and some do not")
        ranks = np.concatenate([ranks, generator.random(len(new[0]))])
        order = np.argsort(ranks)[:size]
        kept = [
            None if after is None else np.concatenate([before, after])[order]
            for before, after in zip(kept or _none_of(new), new, strict=True)
        ]
        ranks = ranks[order]
    assert kept, "demonstrations are never empty"
    return DemonstratedSteps(*kept)


def _columns(trajectory: Trajectory, number: int) -> list[Any]:
    steps = np.stack([trajectory.states[:-1], trajectory.states[1:]], axis=1)
    terminal = np.zeros(len(steps), bool)
    terminal[-1] = trajectory.terminal
    elapsed = np.arange(len(steps), dtype=np.int32)
    return [steps, trajectory.actions, terminal, elapsed, np.full(len(steps), number, np.int32)]


def _none_of(columns: list[Any]) -> list[Any]:
    return [None if column is None else column[:0] for column in columns]


def sample_steps(
    trajectories: Iterable[Trajectory], size: int, generator: np.random.Generator
) -> np.ndarray:
    """The steps (n, 2, F) of such a sample."""
    return np.asarray(sample(trajectories, size, generator).pairs)
