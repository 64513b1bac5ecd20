"""What every environment of the package promises: checkers, horizon, seeds and its ending."""

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from ilfo.environments import endings
from ilfo.environments.tasks import register_all

register_all()

ENDS = {
    "ilfo/CartPole-v1": endings.cartpole_ends,
    "ilfo/StochasticCartPole-v0": endings.cartpole_ends,
    "ilfo/Reacher-v0": endings.never_ends,
    "ilfo/Swimmer-v0": endings.never_ends,
    "ilfo/Hopper-v0": endings.hopper_ends,
    "ilfo/Walker2d-v0": endings.walker2d_ends,
    "ilfo/DeepSea10-v0": endings.never_ends,
    "ilfo/CombinationLock-v0": endings.never_ends,
    "ilfo/DecoyMaze-v0": endings.never_ends,
}
HORIZON = dict(zip(ENDS, (500, 200, 50, 400, 400, 400, 10, 8, 100), strict=True))
SIZES = dict(zip(ENDS, (4, 4, 10, 8, 12, 18, 22, 2, 2), strict=True))


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
