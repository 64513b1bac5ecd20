"""Discrete actions from a grid over a Box, for methods that need discrete actions."""

import itertools
import operator
from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from ilfo.data.statements import is_count


class Discretise(gym.ActionWrapper, gym.utils.RecordConstructorArgs):
    """Replaces a bounded Box of actions by the points of an evenly spaced grid over it.

    The grid includes the corners of the Box.

    **Arguments**

    - `env`: an environment with a bounded Box of actions.
    - `bins`: points per dimension, one number for all dimensions or one for each; a single point
      is the middle.
    """

    def __init__(self, env: gym.Env, bins: int | Sequence[int]):
        gym.utils.RecordConstructorArgs.__init__(self, bins=bins)
        super().__init__(env)
        box = env.action_space
        if not isinstance(box, gym.spaces.Box) or not box.is_bounded():
            raise ValueError(f"action space is {box}, but only a bounded Box can be discretised")
        low, high = box.low.ravel(), box.high.ravel()
        try:
            counts = [operator.index(count) for count in np.broadcast_to(bins, low.shape).tolist()]
        except (TypeError, ValueError):
            counts = []
        if len(counts) != len(low) or min(counts) < 1 or np.asarray(bins).dtype == bool:
            raise ValueError(
                f"bins is {bins}, but must be a positive integer, or one for each of the "
                f"{len(low)} dimensions of the action"
            )
        axes = [
            np.linspace(a, b, count) if count > 1 else np.array([(a + b) / 2])
            for a, b, count in zip(low, high, counts, strict=True)
        ]
        grid = np.array(list(itertools.product(*axes)))
        self.points = grid.reshape(-1, *box.shape).astype(box.dtype)
        """The Box action of each discrete action."""
        self.action_space = gym.spaces.Discrete(len(self.points))

    def action(self, action: int) -> np.ndarray:
        """The Box action of a discrete action."""
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action!r}, but must be one of {self.action_space}")
        return self.points[action]


class Levels(gym.ActionWrapper, gym.utils.RecordConstructorArgs):
    """Replaces each dimension of a bounded Box of actions by evenly spaced levels of its own, so
    that actions are vectors of discrete ones. The ends of the Box are levels.

    **Arguments**

    - `env`: an environment with a bounded Box of actions.
    - `bins`: levels per dimension, at least 2.
    """

    def __init__(self, env: gym.Env, bins: int):
        gym.utils.RecordConstructorArgs.__init__(self, bins=bins)
        super().__init__(env)
        box = env.action_space
        if not isinstance(box, gym.spaces.Box) or not box.is_bounded():
            raise ValueError(f"action space is {box}, but only a bounded Box can have levels")
        if not is_count(bins) or bins < 2:
            raise ValueError(f"bins is {bins!r}, but must be a whole number of levels, at least 2")
        self.levels = np.linspace(box.low, box.high, int(bins), dtype=box.dtype)
        """Of each dimension, (bins, ...)."""
        self.action_space = gym.spaces.MultiDiscrete(np.full(box.shape, int(bins)))

    def action(self, action: np.ndarray) -> np.ndarray:
        """The Box action of a vector of levels."""
        chosen = np.asarray(action)
        if not self.action_space.contains(chosen):
            raise ValueError(f"the action is {action!r}, but must be one of {self.action_space}")
        return np.take_along_axis(self.levels, chosen[None], 0)[0]
