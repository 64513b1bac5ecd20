"""A uniform sample of demonstrated steps, drawn in one pass over the demonstrations.

Training computes scales, the bandwidth, start states and the largest norm from it. Only the sample
and as many steps again are in memory at a time, so the demonstrations may be larger than memory.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ilfo.common.types import DemonstratedSteps
from ilfo.data.trajectory import Trajectory

SAMPLE = 20_000
"""Demonstrated steps kept for scales, bandwidth and start states."""
MOST_NUMBERS = 2**23
"""Numbers that their states may have; above 209 dimensions fewer steps are kept."""


def sample(
    trajectories: Iterable[Trajectory], size: int, generator: np.random.Generator
) -> DemonstratedSteps:
    """A uniform sample of `size` steps, or of as many as have `MOST_NUMBERS`, or all steps if there
    are fewer.

    Every step gets a random rank, and the steps with the smallest ranks are kept. This takes one
    pass and needs no total count. The sample is in the order of the ranks, as NumPy arrays; its
    actions are in the environment's units.
    """
    smallest = None
    for number, trajectory in enumerate(trajectories):
        if len(trajectory.states) < 2:
            continue  # a clip of one state has no step
        new = _columns(trajectory, number)
        if smallest is None:
            smallest = _Smallest(min(size, max(1, MOST_NUMBERS // new[0][0].size)))
        smallest.add(generator.random(len(new[0])), new)
    if smallest is None:
        raise ValueError(
            "all demonstrations are clips of one state, so there is no step to learn from; record "
            "longer ones"
        )
    return DemonstratedSteps(*smallest.columns())


class _Smallest:
    """The rows with the smallest ranks so far.

    Rows wait until there are as many as are kept; only then all are sorted. So a row costs the same
    however many there are.
    """

    def __init__(self, size: int):
        self._size = size
        self._waiting: list[tuple[np.ndarray, list[Any]]] = []
        self._count = 0
        self._largest = np.inf
        """Rows of larger ranks are out."""

    def add(self, ranks: np.ndarray, columns: list[Any]) -> None:
        if self._waiting and (self._waiting[0][1][1] is None) != (columns[1] is None):
            raise ValueError(
                "only some of the demonstrations have actions; give actions to all or to none"
            )
        small = ranks < self._largest
        self._waiting.append((ranks[small], [_rows(column, small) for column in columns]))
        self._count += int(small.sum())
        if self._count >= 2 * self._size:
            self._sort()

    def columns(self) -> list[Any]:
        """The kept rows, in the order of their ranks."""
        self._sort()
        return self._waiting[0][1]

    def _sort(self) -> None:
        ranks = np.concatenate([ranks for ranks, _ in self._waiting])
        order = np.argsort(ranks)[: self._size]
        parts = zip(*(columns for _, columns in self._waiting), strict=True)
        joined = [None if each[0] is None else np.concatenate(each)[order] for each in parts]
        self._waiting, self._count = [(ranks[order], joined)], len(order)
        if len(order) == self._size:
            self._largest = ranks[order[-1]]


def _columns(trajectory: Trajectory, number: int) -> list[Any]:
    steps = np.stack([trajectory.states[:-1], trajectory.states[1:]], axis=1)
    terminal = np.zeros(len(steps), bool)
    terminal[-1] = trajectory.terminal
    elapsed = np.arange(len(steps), dtype=np.int32)
    return [steps, trajectory.actions, terminal, elapsed, np.full(len(steps), number, np.int32)]


def _rows(column: Any, which: np.ndarray) -> Any:
    return None if column is None else column[which]
