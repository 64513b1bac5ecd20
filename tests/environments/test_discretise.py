"""Boxes of actions made discrete, and Reacher, which is."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.environments.discretise import Discretise


def test_reacher_by_hand():
    environment = gym.make("ilfo/Reacher-v0")
    environment.reset(seed=1)
    torques = np.linspace(-1, 1, 5)
    for number in (0, 7, 12, 24):
        observation, reward, *_ = environment.step(number)
        data = environment.unwrapped.data
        angles, target = data.qpos[:2], data.qpos[2:4]
        away = (data.body("fingertip").xpos - data.body("target").xpos)[:2]
        expected = [*np.cos(angles), *np.sin(angles), *target, *data.qvel[:2], *away]
        np.testing.assert_allclose(observation, expected, atol=1e-6)
        torque = np.array([torques[number // 5], torques[number % 5]])
        assert reward == pytest.approx(-np.linalg.norm(away) - (torque**2).sum(), abs=1e-6)


class TestDiscretise:
    def test_numbers_the_grid_with_its_corners(self):
        wrapper = Discretise(gym.make("Pendulum-v1"), 5)
        np.testing.assert_allclose(wrapper.points.ravel(), [-2, -1, 0, 1, 2])
        assert gym.make("ilfo/Reacher-v0").action_space == gym.spaces.Discrete(25)
        assert gym.make("ilfo/Reacher-v0", bins=3).action_space == gym.spaces.Discrete(9)

    def test_every_dimension_may_have_its_own_number(self):
        wrapper = Discretise(gym.make("Swimmer-v5"), (3, 1))
        np.testing.assert_allclose(wrapper.points, [[-1, 0], [0, 0], [1, 0]])
        assert wrapper.points.dtype == np.float32

    def test_a_number_acts_as_its_point(self):
        discrete, plain = Discretise(gym.make("Pendulum-v1"), 3), gym.make("Pendulum-v1")
        discrete.reset(seed=0)
        plain.reset(seed=0)
        np.testing.assert_array_equal(discrete.step(2)[0], plain.step(np.array([2.0]))[0])

    @pytest.mark.parametrize(
        ("name", "bins", "message"),
        [
            ("CartPole-v1", 3, "only a bounded Box"),
            ("Pendulum-v1", 0, "bins is 0"),
            ("Pendulum-v1", (3, 3), "each of the 1 dimensions"),
        ],
    )
    def test_what_cannot_be_numbered_is_refused(self, name, bins, message):
        with pytest.raises(ValueError, match=message):
            Discretise(gym.make(name), bins)

    @pytest.mark.parametrize("bins", [0, -1, 2.5, True, (2, 3), (2.0,), "x"])
    def test_bins_that_make_no_sense(self, bins):
        with pytest.raises(ValueError, match=r"bins is .*, but must be a positive integer"):
            Discretise(gym.make("Pendulum-v1"), bins)

    def test_a_count_may_be_of_numpy(self):
        assert Discretise(gym.make("Pendulum-v1"), np.int64(3)).action_space.n == 3

    def test_numbers_outside_the_grid_are_refused(self):
        wrapper = Discretise(gym.make("Pendulum-v1"), 3)
        for number in (-1, 3):
            with pytest.raises(ValueError, match=f"the action is {number}, but must be one of"):
                wrapper.action(number)
