"""A uniform sample of demonstrated steps, drawn in one pass over the demonstrations.

Training computes scales, the bandwidth, start states and the largest norm from it. Only the sample
and one trajectory are in memory at a time, so the demonstrations may be larger than memory.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ilfo.data.trajectory import Trajectory

SAMPLE = 20_000
"""Demonstrated steps kept for scales, bandwidth and start states."""
STARTS = 5_000
"""At most this many of them may be start states of imagined trajectories."""


class Demonstrated(NamedTuple):
    """A sample of demonstrated steps, in random order."""

    steps: np.ndarray
    """(n, 2, F): the states, or features of them, before and after the step."""
    actions: np.ndarray | None
    """(n, ...) in the environment's units; None if the trajectories have no actions."""
    terminal: np.ndarray
    """(n,): the step ended its episode."""
    elapsed: np.ndarray
    """(n,): steps of the episode before this one."""
    trajectory: np.ndarray
    """(n,): index of the trajectory that the step is from."""


def sample(
    trajectories: Iterable[Trajectory], size: int, generator: np.random.Generator
) -> Demonstrated:
    """A uniform sample of `size` steps, or all steps if there are fewer.

    Every step gets a random rank, and the steps with the smallest ranks are kept. This takes one
    pass and needs no total count. The sample is in the order of the ranks.
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
    return Demonstrated(*kept)


def _columns(trajectory: Trajectory, number: int) -> list[Any]:
    steps = np.stack([trajectory.states[:-1], trajectory.states[1:]], axis=1)
    terminal = np.zeros(len(steps), bool)
    terminal[-1] = trajectory.terminal
    elapsed = np.arange(len(steps), dtype=np.int32)
    return [steps, trajectory.actions, terminal, elapsed, np.full(len(steps), number, np.int32)]


def _none_of(columns: list[Any]) -> list[Any]:
    return [None if column is None else column[:0] for column in columns]
