import gymnasium as gym
import numpy as np
import pytest

from ilfo.rollouts.scores import random_return, score


@pytest.mark.parametrize(
    ("value", "expert", "chance", "expected"),
    [
        (250.0, 500.0, 20.0, 0.5),
        (500.0, 500.0, 0.0, 1.0),
        (-150.0, -100.0, -200.0, 0.5),  # MountainCar
        (-200.0, -100.0, -200.0, 0.0),
        (10.0, 30.0, -10.0, 0.5),  # an expert above zero, a random policy below
        (-5.0, 0.0, -10.0, 0.5),
        (3.0, None, 0.0, None),
        (0.0, 0.0, 0.0, None),
        (-190.0, -200.0, -200.0, None),
    ],
)
def test_score(value, expert, chance, expected):
    assert score(value, expert, chance) == expected


class Payday(gym.Env):
    """Three steps, each paying the action; what was played is recorded."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(10)

    def __init__(self):
        self.paid, self.seeds = [], []

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.step_number = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.paid.append(int(action))
        self.step_number += 1
        return np.zeros(1, np.float32), float(action), False, self.step_number == 3, {}


def test_the_random_return_is_the_mean_of_whole_episodes():
    environment = Payday()
    mean = random_return(environment, episodes=20, seed=0)
    assert len(environment.paid) == 60
    assert mean == pytest.approx(sum(environment.paid) / 20)
    assert len(set(environment.paid)) == 10
    assert len(set(environment.seeds)) == 20


def test_the_random_return_repeats():
    first, second, other = Payday(), Payday(), Payday()
    second.action_space.sample()  # as left by somebody else
    assert random_return(first, episodes=5, seed=3) == random_return(second, episodes=5, seed=3)
    random_return(other, episodes=5, seed=4)
    assert first.paid == second.paid != other.paid
