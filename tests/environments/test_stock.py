"""The bundled recordings of Gymnasium's own tasks."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.environments.stock import BUNDLED, load, recorded_environments

LEAST = {"Hopper-v5": 3000, "Walker2d-v5": 3500, "HalfCheetah-v5": 6000, "Ant-v5": 3000}
"""Mean return of an expert that is worth imitating."""


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("name", recorded_environments())
def test_ten_episodes_of_a_good_expert(name, greedy):
    demonstrations = load(name, greedy=greedy, actions=True)
    spaces, metadata = gym.make(name), demonstrations.metadata
    assert metadata["environment"] == name
    assert metadata["greedy"] == greedy
    assert metadata["expert_return"] >= LEAST[name]
    assert metadata["random_return"] < 0.5 * LEAST[name]
    assert demonstrations.count() == 10
    for trajectory in demonstrations:
        assert trajectory.states.dtype == np.float32
        assert trajectory.states.shape[1:] == spaces.observation_space.shape
        assert trajectory.actions.shape[1:] == spaces.action_space.shape
        assert trajectory.terminal == (len(trajectory.states) <= 1000)


def test_states_only_unless_actions_are_asked_for():
    assert not load("Hopper-v5").has_actions
    assert load("Hopper-v5", 2).count() == 2


def test_only_what_has_both_recordings_is_listed(tmp_path):
    for name in ("Ant-v5.npz", "Ant-v5-greedy.npz", "Hopper-v5.npz", "hopper.npz"):
        (tmp_path / name).touch()
    assert recorded_environments(tmp_path) == ("Ant-v5",)
    assert "Hopper-v5" in recorded_environments()


def test_an_environment_without_recordings_is_named_beside_those_there_are():
    with pytest.raises(ValueError, match=r"no recordings of 'Pong-v5'.*Hopper-v5.*expert train"):
        load("Pong-v5")


def test_the_files_are_small():
    assert all(path.stat().st_size < 5_000_000 for path in BUNDLED.glob("*-v5*.npz"))
