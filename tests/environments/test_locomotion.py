"""Runners and swimmer, against values computed by hand from the simulator's raw state."""

import gymnasium as gym
import numpy as np
import pytest

import ilfo.environments  # noqa: F401  (registers them)


@pytest.mark.parametrize("name", ["ilfo/Hopper-v0", "ilfo/Walker2d-v0"])
def test_runners_show_progress_positions_and_scaled_velocities(name):
    environment = gym.make(name).unwrapped
    first, _ = environment.reset(seed=3)
    joints = environment.model.nq
    assert environment.dt == pytest.approx(0.02)
    assert first[0] == 0
    assert np.abs(environment.data.qpos - environment.init_qpos).max() <= 5e-3
    action = np.full(environment.model.nu, 0.5, np.float32)
    for _ in range(3):
        before = environment.data.qpos[0]
        observation, reward, *_ = environment.step(action)
        moved = environment.data.qpos[0] - before
        assert moved != 0
        np.testing.assert_allclose(observation[0], moved, rtol=1e-6)
        np.testing.assert_allclose(observation[1:joints], environment.data.qpos[1:], rtol=1e-6)
        np.testing.assert_allclose(observation[joints:], 0.02 * environment.data.qvel, rtol=1e-6)
        effort = 1e-3 * 0.25 * environment.model.nu
        assert reward == pytest.approx(2.5 * (moved / 0.02 + 1 - effort), rel=1e-6)
    # the first progress after a reset is not that of the last episode
    again, _ = environment.reset(seed=4)
    assert again[0] == 0


def test_the_swimmer_is_gymnasiums_with_another_step_and_scale():
    environment = gym.make("ilfo/Swimmer-v0").unwrapped
    plain = gym.make("Swimmer-v5", frame_skip=10).unwrapped
    seen, _ = environment.reset(seed=1)
    np.testing.assert_array_equal(seen, plain.reset(seed=1)[0])
    action = np.array([0.3, -0.8], np.float32)
    observation, reward, *_ = environment.step(action)
    expected, plain_reward, *_ = plain.step(action)
    np.testing.assert_array_equal(observation, expected)
    assert reward == 2.5 * plain_reward
    assert environment.dt == pytest.approx(0.1)


def test_swimmer_by_hand():
    environment = gym.make("ilfo/Swimmer-v0")
    environment.reset(seed=1)
    data = environment.unwrapped.data
    for action in ([1.0, -1.0], [0.3, 0.2]):
        before, start = data.qpos[0], data.time
        observation, reward, *_ = environment.step(np.array(action, np.float32))
        speed = (data.qpos[0] - before) / (data.time - start)
        assert data.time - start == pytest.approx(10 * environment.unwrapped.model.opt.timestep)
        np.testing.assert_allclose(observation, [*data.qpos[2:], *data.qvel], atol=1e-6)
        cost = 1e-4 * (np.array(action) ** 2).sum()
        assert reward == pytest.approx(2.5 * (speed - cost), abs=1e-6)
