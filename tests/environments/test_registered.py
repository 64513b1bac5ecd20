"""The paper's environments, against values computed by hand from the simulator's raw state."""

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from ilfo.environments import endings
from ilfo.environments.discretise import Discretise
from ilfo.environments.tasks import register_all

register_all()

ENDS = {
    "ilfo/CartPole-v1": endings.cartpole_ends,
    "ilfo/StochasticCartPole-v0": endings.cartpole_ends,
    "ilfo/Reacher-v0": endings.never_ends,
    "ilfo/Swimmer-v0": endings.never_ends,
    "ilfo/Hopper-v0": endings.hopper_ends,
    "ilfo/Walker2d-v0": endings.walker2d_ends,
}
HORIZON = dict(zip(ENDS, (500, 200, 50, 400, 400, 400), strict=True))
SIZES = dict(zip(ENDS, (4, 4, 10, 8, 12, 18), strict=True))


def walk(name, steps=300, seed=0):
    """(observation, reward, ended, cut, environment) of random steps."""
    environment = gym.make(name)
    environment.reset(seed=seed)
    environment.action_space.seed(seed)
    for _ in range(steps):
        action = environment.action_space.sample()
        observation, reward, ended, cut, _ = environment.step(action)
        yield observation, reward, ended, cut, environment, action
        if ended or cut:
            environment.reset()


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.filterwarnings("ignore:.*Box observation space")
def test_both_checkers_accept_it(name):
    whole = gym.make(name, disable_env_checker=True).env.env  # without TimeLimit, OrderEnforcing
    assert whole.action_space == gym.make(name).action_space
    check_env(whole, skip_render_check=True)
    check_env_sb3(gym.make(name))


@pytest.mark.parametrize("name", ENDS)
def test_horizon_and_size(name):
    environment = gym.make(name)
    assert environment.spec.max_episode_steps == HORIZON[name]
    assert environment.observation_space.shape == (SIZES[name],)


@pytest.mark.parametrize("name", ENDS)
def test_the_same_seed_gives_the_same_trajectory(name):
    first, again, other = ([w[:3] for w in walk(name, 60, seed)] for seed in (0, 0, 1))
    for (a, ra, ea), (b, rb, eb) in zip(first, again, strict=True):
        assert a.tobytes() == b.tobytes()
        assert (ra, ea) == (rb, eb)
    assert not np.array_equal(first[0][0], other[0][0])


@pytest.mark.parametrize("name", ENDS)
def test_the_pure_function_ends_episodes_where_the_environment_does(name):
    states, ended = zip(*[(w[0], w[2]) for w in walk(name, 1000)], strict=True)
    states = np.stack(states).astype(np.float32)
    compiled = jax.jit(jax.vmap(ENDS[name]))(states)
    np.testing.assert_array_equal(compiled, ended)
    assert any(ended) == (ENDS[name] is not endings.never_ends)
    assert [bool(ENDS[name](state)) for state in states] == list(ended)


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


def test_walkers_fall_as_the_paper_says():
    upright = np.zeros(18, np.float32)
    upright[1] = 1.25
    hopper, walker = endings.hopper_ends, endings.walker2d_ends
    assert not hopper(upright[:12])
    assert not walker(upright)
    for index, value, falls in [
        (1, 0.7, (True, True)),
        (1, 0.75, (False, True)),
        (1, 2.1, (False, True)),
        (2, -1.0, (True, True)),
        (2, 0.99, (False, False)),
        (5, 100.0, (True, True)),
        (5, np.nan, (True, True)),
        (0, -np.inf, (True, True)),
    ]:
        state = upright.copy()
        state[index] = value
        assert (bool(hopper(state[:12])), bool(walker(state))) == falls, (index, value)


def test_noise_of_the_stochastic_cartpole_is_drawn_by_itself():
    """Against the noiseless step from the same state: N(0, 0.03²) in every dimension."""
    noisy = gym.make("ilfo/StochasticCartPole-v0").unwrapped
    plain = gym.make("CartPole-v1").unwrapped
    noisy.reset(seed=0)
    plain.reset(seed=0)
    differences = []
    for step in range(2000):
        noisy.state = plain.state = (0.0, 0.0, 0.0, 0.0)
        noisy.steps_beyond_terminated = plain.steps_beyond_terminated = None
        np.random.seed(0)  # a global generator would repeat itself
        differences.append(noisy.step(step % 2)[0] - plain.step(step % 2)[0])
    differences = np.stack(differences)
    np.testing.assert_allclose(differences.mean(0), 0, atol=4 * 0.03 / 2000**0.5)
    np.testing.assert_allclose(differences.std(0), 0.03, rtol=4 / 4000**0.5)


def test_endings_are_judged_after_the_noise():
    environment = gym.make("ilfo/StochasticCartPole-v0", noise=0.5).unwrapped
    environment.reset(seed=0)
    verdicts = []
    for _ in range(200):
        environment.state, environment.steps_beyond_terminated = (0.0, 0.0, 0.0, 0.0), None
        observation, reward, ended, *_ = environment.step(0)
        assert ended == (abs(observation[0]) > 2.4 or abs(observation[2]) > 12 * np.pi / 180)
        assert reward == 1.0
        verdicts.append(ended)
    assert 20 < sum(verdicts) < 180


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
        numbered, plain = Discretise(gym.make("Pendulum-v1"), 3), gym.make("Pendulum-v1")
        numbered.reset(seed=0)
        plain.reset(seed=0)
        np.testing.assert_array_equal(numbered.step(2)[0], plain.step(np.array([2.0]))[0])

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
