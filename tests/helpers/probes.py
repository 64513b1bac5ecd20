"""Decision processes so small that their values are known.

Observations have one dimension and there are two actions, so that one compiled update serves all.
"""

import gymnasium as gym
import numpy as np


class Probe(gym.Env):
    """One step; what is observed is -1 or 1 at random."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seen = self.first()
        return self.observe(), {}

    def step(self, action):
        return self.observe(), self.reward(int(action)), True, False, {}

    def observe(self) -> np.ndarray:
        return np.array([self.seen], np.float32)

    def first(self) -> float:
        return float(self.np_random.choice([-1.0, 1.0]))

    def reward(self, action: int) -> float:
        raise NotImplementedError


class ConstantReward(Probe):
    """V = 1."""

    def first(self):
        return 0.0

    def reward(self, action):
        return 1.0


class RewardByObservation(Probe):
    """V(s) = s."""

    def reward(self, action):
        return self.seen


class DelayedReward(Probe):
    """0 leads to 1, where the episode ends with reward 1: V(0) = γ, V(1) = 1."""

    def first(self):
        return 0.0

    def step(self, action):
        done = self.seen == 1.0
        self.seen = 1.0
        return self.observe(), float(done), done, False, {}


class RewardByAction(Probe):
    """Action 1 gives 1, action 0 gives -1: V = 1 for the best policy."""

    def first(self):
        return 0.0

    def reward(self, action):
        return 2.0 * action - 1


class RewardByObservationAndAction(Probe):
    """Action 1 is right where 1 is observed, action 0 where -1 is: V = 1 for the best policy."""

    def reward(self, action):
        return self.seen * (2.0 * action - 1)
