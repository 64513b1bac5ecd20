"""Environments that return something else than they declare."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from ilfo.common.spaces import action_space
from ilfo.common.types import Normaliser
from ilfo.environments.factory import factory
from ilfo.experts.actors import play_actor
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.collect import collect
from ilfo.rollouts.episodes import play
from ilfo.rollouts.scores import random_return
from ilfo.rollouts.stepping import EnvironmentFault, observe, step
from ilfo.runs.launch import start
from tests.helpers.agents import MACHINE, small_spec


class Faulty(gym.Wrapper):
    """CartPole, one of whose answers a test replaces."""

    def __init__(self, **answers):
        super().__init__(gym.make("CartPole-v1", max_episode_steps=20))
        self.answers = answers

    def step(self, action):
        names = ("observation", "reward", "terminated", "truncated", "info")
        given = dict(zip(names, super().step(action), strict=True)) | self.answers
        return tuple(given[name] for name in names)


def faulty(**answers) -> gym.Env:
    environment = Faulty(**answers)
    environment.reset(seed=0)
    return environment


@pytest.fixture(scope="module")
def policy() -> HostPolicy:
    space = action_space(gym.spaces.Discrete(2))
    return HostPolicy.single(
        MLPPolicy(8, 1).init(4, space, Normaliser.identity(4), key=jax.random.key(0))
    )


@pytest.mark.parametrize("value", [0, 1, np.True_, np.int64(0), np.array(True)])
def test_flags_of_other_types_are_read_as_what_they_are(value):
    _, _, ends, _ = step(faulty(terminated=value), 0)
    assert type(ends) is bool
    assert ends == bool(value)


@pytest.mark.parametrize("value", ["False", "", None, 2, 0.5, [False], np.array([True, False])])
@pytest.mark.parametrize("name", ["terminated", "truncated"])
def test_flags_that_are_none(name, value):
    with pytest.raises(EnvironmentFault, match=rf"CartPole-v1 returned {name}=.*True or False"):
        step(faulty(**{name: value}), 0)


@pytest.mark.parametrize("observation", [0.5, [0.5], np.zeros(5), np.zeros((1, 4)), "x", None, {}])
def test_observations_of_another_shape(observation):
    with pytest.raises(EnvironmentFault, match=r"CartPole-v1 returned the observation .*\(4,\)"):
        observe(faulty(), observation)


def test_four_answers_are_none():
    environment = faulty()
    environment.step = lambda action: (np.zeros(4), 0.0, True, {})
    with pytest.raises(EnvironmentFault, match="from step, expected"):
        step(environment, 0)


@pytest.mark.parametrize("answer", [None, (np.zeros(4), 0.0, True, {})])
def test_a_wrapper_that_cannot_take_answers_apart(answer):
    inner = faulty()
    inner.step = lambda action: answer
    with pytest.raises(EnvironmentFault, match=r"from step \(.*unpack.*\), expected"):
        step(gym.wrappers.TimeLimit(inner, 20), 0)


def test_recursion_without_an_end_is_a_fault():
    class Endless(gym.Wrapper):
        def step(self, action):
            return self.step(action)

    environment = Endless(gym.make("CartPole-v1"))
    with pytest.raises(EnvironmentFault, match=r"CartPole-v1 calls itself too often in step \(max"):
        step(environment, 0)


def test_what_the_environment_itself_raises_stays():
    def wrong(action):
        _, _ = (1,)

    inner = faulty()
    inner.step = wrong
    with pytest.raises(ValueError, match="unpack") as raised:
        step(gym.wrappers.TimeLimit(inner, 20), 0)
    assert raised.type is ValueError


def test_every_way_of_acting_notices(policy):
    space = action_space(gym.spaces.Discrete(2))
    scalar, text = (lambda: Faulty(observation=0.5)), (lambda: Faulty(terminated="False"))
    for make in (scalar, text):
        ways = (
            lambda make=make: collect([make()], policy, space, seeds=[0], iteration=0, steps=3),
            lambda make=make: list(play([make()], policy, space, episodes=1, seed=0)),
            lambda make=make: list(play_actor(make(), lambda _: 0, episodes=1, seed=0)),
        )
        for way in ways:
            with pytest.raises(EnvironmentFault):
                way()
    with pytest.raises(EnvironmentFault):
        random_return(text(), episodes=1, seed=0)


def test_nan_is_noticed_in_evaluation(policy):
    space = action_space(gym.spaces.Discrete(2))
    environment = Faulty(observation=np.full(4, np.nan))
    with pytest.raises(FloatingPointError, match="not finite at step 1 of an evaluation episode"):
        list(play([environment], policy, space, episodes=1, seed=0))


@pytest.fixture
def registered():
    names = []

    def register(make) -> str:
        names.append(f"Faulty{len(names)}-v0")
        gym.register(names[-1], make, max_episode_steps=20)
        return names[-1]

    yield register
    for name in names:
        del gym.registry[name]


def test_a_faulty_environment_stops_before_a_directory_is_made(registered, demos_file, tmp_path):
    name = registered(lambda: Faulty(terminated="False"))
    with pytest.raises(EnvironmentFault, match="terminated='False'"):
        start(small_spec(demos_file, 1, env=name), tmp_path / "run", MACHINE)
    assert not (tmp_path / "run").exists()


def test_rewards_that_are_nan_are_remarked_and_do_not_stop_training(
    registered, cache_home, demos_file, tmp_path
):
    name = registered(lambda: Faulty(reward=np.nan))
    summary = start(small_spec(demos_file, 1, env=name), tmp_path / "run", MACHINE)
    assert any("rewards of" in remark for remark in summary["remarks"])


class Declared(gym.Env):
    """Says by a spec of its own when an episode stops, and never stops it."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)
    spec = gym.envs.registration.EnvSpec("Declared-v0", max_episode_steps=7)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 1.0, False, False, {}


@pytest.mark.parametrize("horizon", [None, 5])
def test_a_declared_limit_is_kept(horizon):
    maker = factory(Declared, horizon)
    assert maker.horizon == (horizon or 7)
    (episode,) = play_actor(maker.make(), lambda _: 0, episodes=1, seed=0)
    assert len(episode.rewards) == maker.horizon
    assert not episode.terminal
