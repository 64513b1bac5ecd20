"""DeepSea: a grid that is dived through row by row, where one wrong move misses the treasure.

Osband et al., 'Behaviour suite for reinforcement learning' (2020). Every step moves a row down and
a column to the left or to the right. Which of the two actions means right is drawn once for each
cell. Only a dive that goes right at every step ends at the treasure: of the 2^N dives one.
"""

from typing import Any

import gymnasium as gym
import numpy as np


class DeepSea(gym.Env):
    """The state is the row and the column, each as a one-hot vector of N + 1 numbers.

    Going right costs 0.01 / N, the treasure pays 1: the best return is 0.99. The time limit of N
    steps ends an episode.
    """

    def __init__(self, size: int = 10, render_mode: str | None = None):
        if size < 1:
            raise ValueError(f"size is {size}, but must be at least 1")
        self.size, self.render_mode = size, render_mode
        self.right = right_actions(size)
        self.action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (2 * (size + 1),), np.float32)
        self.row, self.column = 0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.row, self.column = 0, 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = 0.0
        if self.row < self.size:
            if action == self.right[self.row, self.column]:
                self.column += 1
                reward -= 0.01 / self.size
            else:
                self.column = max(self.column - 1, 0)
            self.row += 1
            if self.row == self.size and self.column == self.size:
                reward += 1.0
        return self._observation(), reward, False, False, {}

    def _observation(self) -> np.ndarray:
        rows = np.eye(self.size + 1, dtype=np.float32)
        return np.concatenate([rows[self.row], rows[self.column]])


def right_actions(size: int) -> np.ndarray:
    """(N, N) by row and column: the action that moves right; the same in every process."""
    return np.random.default_rng(size).integers(2, size=(size, size))
