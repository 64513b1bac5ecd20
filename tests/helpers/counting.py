"""An environment whose every step can be recomputed from what was recorded of it."""

import gymnasium as gym
import numpy as np

LIMIT = 9.0


class Counting(gym.Env):
    """State (position, tag): position' = position + 1 + action, ends at `LIMIT`, reward position'.

    The tag is drawn at a reset and stays, so a step across two episodes would show. `seeds` and
    `received` record what the environment was given.
    """

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, kind: str = "discrete"):
        self.action_space = {
            "discrete": gym.spaces.Discrete(2),
            "box": gym.spaces.Box(-0.5, 1.5, (1,), np.float32),
        }[kind]
        self.seeds: list[int | None] = []
        self.received: list = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.state = np.array([self.np_random.integers(3), self.np_random.random()])
        return self.observe(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.received.append(action)
        self.state[0] += 1 + float(np.sum(action))
        position = self.state[0]
        return self.observe(), position, position >= LIMIT, False, {}

    def observe(self):
        return self.state.astype(np.float32)


def counting(kind: str = "discrete", time_limit: int | None = None) -> gym.Env:
    environment = Counting(kind)
    return gym.wrappers.TimeLimit(environment, time_limit) if time_limit else environment
