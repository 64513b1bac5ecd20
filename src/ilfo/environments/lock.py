"""A combination lock with continuous codes.

At each of eight positions there is a code, a point in a square. An action is an attempt at it. A
wrong one drops the state off the path, and nothing leads back.
"""

from typing import Any

import gymnasium as gym
import numpy as np

LENGTH = 8
TOLERANCE = 0.25
"""Largest error of either number of a code: a random attempt is right once in sixteen."""
DROP = 0.5
"""How far one step off the path falls, down to 1 below it."""
WAVE = 0.5
"""How far the path itself goes up and down, so that demonstrations show a scale of heights."""


class CombinationLock(gym.Env):
    """The state is (position, height): the position moves on with every step, the height follows a
    wave on the path and falls to 1 below it off the path.

    Every step that ends on the path pays 1, so the best return is 8. The time limit of 8 steps
    ends an episode.
    """

    def __init__(self, render_mode: str | None = None):
        self.render_mode = render_mode
        self.codes = codes()
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = gym.spaces.Box(
            np.array([0.0, -1.0 - WAVE], np.float32), np.array([1.0, WAVE], np.float32)
        )
        self.position, self.depth = 0, 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.position, self.depth = 0, 0.0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self.position < LENGTH:
            error = np.abs(np.asarray(action) - self.codes[self.position]).max()
            if self.depth > 0 or error > TOLERANCE:
                self.depth = min(self.depth + DROP, 1.0)
            self.position += 1
        return self._observation(), float(self.depth == 0), False, False, {}

    def _observation(self) -> np.ndarray:
        along = self.position / LENGTH
        return np.array([along, WAVE * np.sin(2 * np.pi * along) - self.depth], np.float32)


def codes() -> np.ndarray:
    """(8, 2) in [-0.75, 0.75]: the codes, the same in every process."""
    return np.random.default_rng(0).uniform(-0.75, 0.75, size=(LENGTH, 2))
