"""A uniform sample of demonstrated steps, drawn in one pass over the demonstrations.

Training computes scales, the bandwidth, start states and the largest norm from it. Only the sample
and one trajectory are in memory at a time, so the demonstrations may be larger than memory.
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
    """A uniform sample of `size` steps, or all steps if there are fewer.

    Every step gets a random rank, and the steps with the smallest ranks are kept. This takes one
    pass and needs no total count. The sample is in the order of the ranks, as NumPy arrays; its
    actions are in the environment's units.
    """
    kept: list[Any] = []
    ranks = np.empty(0)
    for number, trajectory in enumerate(trajectories):
        new = _columns(trajectory, number)
        if kept and (kept[1] is None) != (new[1] is None):
            raise ValueError(
                "only some of the demonstrations have actions; give actions to all or to none"
            )
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
