"""Environments of old versions of Gym: one clear line before anything is learned."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.interface import explained
from ilfo.experts.actors import play_actor
from ilfo.methods.bc import BC


class New(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


class FourValues(New):
    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, {}


class NoInfo(FourValues):
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32)


class NoSeed(FourValues):
    def reset(self):
        return np.zeros(2, np.float32)


class Broken(New):
    def step(self, action):
        raise ValueError("a bug")


OLD = [
    (FourValues, r"FourValues\.step returns 4 values, but must return five"),
    (NoInfo, r"NoInfo\.reset returns no pair"),
    (NoSeed, r"NoSeed\.reset takes no seed"),
    (Broken, "^a bug$"),
]


@pytest.mark.parametrize(("kind", "complaint"), OLD)
def test_it_is_said_before_training(kind, complaint):
    states = np.random.default_rng(0).uniform(-1, 1, (2, 6, 2))
    demos = Demonstrations.from_arrays(states, terminal=False, actions=np.zeros((2, 5), int))
    agent = BC(kind, demos, horizon=5)
    with pytest.raises(ValueError, match=complaint):
        agent.learn()


@pytest.mark.parametrize(("kind", "complaint"), OLD)
def test_it_is_said_before_recording(kind, complaint):
    limited = gym.wrappers.TimeLimit(kind(), 5)
    with pytest.raises((ValueError, TypeError), match=complaint):
        list(play_actor(limited, lambda _: 0, episodes=1, seed=0))


def test_a_sound_environment_is_not_touched():
    environment = New()
    environment.reset = environment.step = None  # would fail if called
    with explained(environment):
        pass
