"""A maze with decoys for a point.

The goal is behind the wall of a chamber: from the chamber's end it is two cells away, and no way
leads there. The way below is a dead end, too. The way to the goal first leads away from it.
"""

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np

PLAN = (
    "###########",
    "#.........#",
    "#.#######.#",
    "#.#.....#.#",
    "#S......#G#",
    "#.#.....#.#",
    "#.#######.#",
    "#...#.....#",
    "###########",
)
"""Walls, start and goal; a cell is a square of side 1, the first row has the smallest y."""
SPEED = 0.25
"""Largest move along each axis in a step."""
NEAR = 0.5
"""A state counts as at the goal up to this distance along each axis."""
SCATTER = 0.2
"""Half the width of the square of first states."""


def _cell_of(mark: str) -> tuple[int, int]:
    """(column, row) of a mark in the plan."""
    return next((line.index(mark), row) for row, line in enumerate(PLAN) if mark in line)


START, GOAL = _cell_of("S"), _cell_of("G")


class DecoyMaze(gym.Env):
    """The state is the position (x, y), the action a move of up to 0.25 along each axis; walls stop
    the part of a move that leads into them.

    Every step that ends at the goal pays 1. The time limit ends an episode.
    """

    def __init__(self, render_mode: str | None = None):
        self.render_mode = render_mode
        size = np.array([len(PLAN[0]), len(PLAN)], np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = gym.spaces.Box(np.zeros(2, np.float32), size)
        self.place = centre(START)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = centre(START) + self.np_random.uniform(-SCATTER, SCATTER, size=2)
        return self.place.astype(np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        move = SPEED * np.clip(np.asarray(action, float), -1, 1)
        for axis in (0, 1):
            reached = self.place.copy()
            reached[axis] += move[axis]
            if is_free(reached):
                self.place = reached
        reward = float(np.abs(self.place - centre(GOAL)).max() <= NEAR)
        return self.place.astype(np.float32), reward, False, False, {}


def centre(cell: tuple[int, int]) -> np.ndarray:
    """The middle of a cell."""
    return np.array(cell, float) + 0.5


def is_free(place: np.ndarray) -> bool:
    """Whether a position is in no wall."""
    column, row = np.floor(place).astype(int)
    return PLAN[row][column] != "#"


def distances() -> dict[tuple[int, int], int]:
    """Steps from cell to cell on the shortest way to the goal, for every cell that has one."""
    known, waiting = {GOAL: 0}, deque([GOAL])
    while waiting:
        cell = waiting.popleft()
        for near in neighbours(cell):
            if near not in known:
                known[near] = known[cell] + 1
                waiting.append(near)
    return known


def neighbours(cell: tuple[int, int]) -> list[tuple[int, int]]:
    """The free cells beside a cell."""
    column, row = cell
    beside = [(column + 1, row), (column - 1, row), (column, row + 1), (column, row - 1)]
    return [each for each in beside if PLAN[each[1]][each[0]] != "#"]
