"""Environments whose transitions are random are told from those in which only resets are."""

import gymnasium as gym
import pytest

import ilfo.environments  # noqa: F401 - registers
from ilfo.environments.randomness import is_noisy


@pytest.mark.parametrize(
    ("name", "noisy"),
    [
        ("CartPole-v1", False),
        ("ilfo/StochasticCartPole-v0", True),
        ("ilfo/Reacher-v0", False),
        ("ilfo/Hopper-v0", False),
    ],
)
def test_noise_of_transitions_is_told_from_random_resets(name, noisy):
    assert is_noisy(gym.make(name)) is noisy
