"""Worlds so small that the right action is known in every state."""

import gymnasium as gym
import numpy as np

from ilfo.data.demonstrations import Demonstrations

STEP = 0.1


class Echo(gym.Env):
    """The state is the last action; nothing ends."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.full(1, action, np.float32), 0.0, False, False, {}


def always_one(steps: int) -> Demonstrations:
    """An expert of Echo that always takes 1."""
    states = np.ones((3, steps + 1, 1), np.float32)
    states[:, 0] = 0
    return Demonstrations.from_arrays(states, terminal=False, actions=np.ones((3, steps), int))


class Line(gym.Env):
    """Action 0 goes up a line and action 1 goes down; nothing ends."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = float(self.np_random.uniform(-1, 1))
        return self._seen(), {}

    def step(self, action):
        self.place += STEP if action == 0 else -STEP
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        return np.array([self.place], np.float32)


def towards_the_middle(place):
    """The right action of Line's expert."""
    return (np.asarray(place) > 0).astype(int)


def middle_seekers(steps: int, count: int = 20) -> Demonstrations:
    """States of an expert of Line that goes to 0 and stays about there."""
    places = [np.linspace(-1, 1, count)]
    for _ in range(steps):
        places.append(places[-1] + STEP * (1 - 2 * towards_the_middle(places[-1])))
    states = np.stack(places, axis=1)[..., None].astype(np.float32)
    return Demonstrations.from_arrays(states, terminal=False)
