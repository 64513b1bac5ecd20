import os
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv

from ilfo.environments.factory import factory, located
from tests.helpers.counting import Counting
from tests.helpers.environments import Goal

SEEN = np.zeros(4)


def length(environment):
    """Steps until the environment stops a Pendulum, which never ends by itself."""
    environment.reset(seed=0)
    for step in range(1, 1000):
        _, _, ends, stops, _ = environment.step(np.zeros(1, np.float32))
        assert not ends
        if stops:
            return step
    return None


WAYS = {
    "id": lambda: "Pendulum-v1",
    "instance": lambda: gym.make("Pendulum-v1"),
    "function": lambda: lambda: gym.make("Pendulum-v1"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_horizon_is_the_environments_own_unless_given(way):
    env_factory = factory(WAYS[way]())
    assert env_factory.horizon == 200
    assert env_factory.name == "Pendulum-v1"
    assert length(env_factory.make()) == 200


@pytest.mark.parametrize("way", WAYS)
def test_a_shorter_horizon_replaces_the_environments_own(way):
    env_factory = factory(WAYS[way](), horizon=30)
    assert env_factory.horizon == 30
    assert length(env_factory.make()) == 30


@pytest.mark.parametrize("way", ["id", "instance"])
def test_a_longer_horizon_replaces_the_environments_own(way):
    env_factory = factory(WAYS[way](), horizon=250)
    assert env_factory.horizon == 250
    assert length(env_factory.make()) == 250


def test_a_function_whose_limit_is_shorter_than_the_horizon_is_refused():
    with pytest.raises(ValueError, match=r"horizon is 250.* 200 .*max_episode_steps=250"):
        factory(WAYS["function"](), horizon=250)


@pytest.mark.parametrize("environment", [Counting, lambda: Counting(), PendulumEnv])
def test_an_environment_without_a_limit_needs_a_horizon(environment):
    with pytest.raises(ValueError, match=r"no time limit and no horizon .*horizon=\.\.\."):
        factory(environment)
    assert factory(environment, horizon=12).horizon == 12


LIMITED = {
    "function": lambda: gym.wrappers.TimeLimit(PendulumEnv(), 40),
    "inside": lambda: gym.wrappers.ClipAction(gym.wrappers.TimeLimit(PendulumEnv(), 40)),
    "strictest": lambda: gym.wrappers.TimeLimit(gym.make("Pendulum-v1", max_episode_steps=40), 90),
}


@pytest.mark.parametrize("way", LIMITED)
def test_the_limit_of_a_wrapper_is_found(way):
    env_factory = factory(LIMITED[way])
    assert env_factory.horizon == length(env_factory.make()) == 40
    assert factory(LIMITED[way], horizon=12).horizon == 12
    with pytest.raises(ValueError, match=r"horizon is 50.* stops after 40 .*TimeLimit"):
        factory(LIMITED[way], horizon=50)


def test_the_limit_of_a_wrapper_around_an_instance_is_found():
    env_factory = factory(gym.wrappers.TimeLimit(gym.make("Pendulum-v1"), 40))
    assert env_factory.horizon == length(env_factory.make()) == 40


MODULE = """
import gymnasium as gym
from gymnasium.envs.classic_control import PendulumEnv
import {sibling}

class Swing(PendulumEnv):
    pass

def short():
    return gym.wrappers.TimeLimit(Swing(), {sibling}.LIMIT)

number = 3
gym.register("{name}/Swing-v0", Swing, max_episode_steps=25)
"""


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """A module in the current folder, of a name that no other test has used."""
    name = f"swing_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(name=name, sibling=f"{name}_size"))
    (tmp_path / f"{name}_size.py").write_text("LIMIT = 35")
    monkeypatch.setattr("sys.path", [path for path in sys.path if path not in ("", os.getcwd())])
    monkeypatch.chdir(tmp_path)
    return name


@pytest.mark.parametrize("way", ["{0}", "{0}.py", "{1}/{0}.py"])
def test_environments_of_the_current_folder(module, way, tmp_path):
    place = way.format(module, tmp_path)
    by_id = factory(f"{place}:{module}/Swing-v0")
    assert (by_id.name, by_id.horizon) == (f"{module}/Swing-v0", 25)
    by_class = factory(f"{place}:Swing", horizon=9)
    assert (by_class.name, length(by_class.make())) == ("Swing", 9)
    assert factory(f"{place}:short").horizon == 35
    for wrong in ("Swung", "number"):
        said = f"unknown environment '.*{wrong}': .*{module}.* has no class or function '{wrong}'"
        with pytest.raises(ValueError, match=said):
            factory(f"{place}:{wrong}")


def test_a_file_is_found_from_elsewhere_by_its_whole_path(module, tmp_path, monkeypatch):
    name = located(f"{module}.py:short")
    monkeypatch.chdir("/")
    assert factory(name).horizon == 35
    assert located("package:Id-v0") == "package:Id-v0"
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.py"):
        factory("nowhere.py:short")


def test_a_file_does_not_replace_a_module(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"'numpy' is in use already.*another name"):
        factory("numpy.py:Swing")


def test_a_class_is_a_function_that_makes_one():
    env_factory = factory(PendulumEnv, horizon=12)
    assert env_factory.name == "PendulumEnv"
    assert length(env_factory.make()) == 12


def test_copies_are_independent_and_carry_the_spaces():
    env_factory = factory("CartPole-v1")
    first, second = env_factory.make_many(2)
    assert first.unwrapped is not second.unwrapped
    assert env_factory.observation_space == first.observation_space
    assert env_factory.action_space == gym.spaces.Discrete(2)
    assert isinstance(first.unwrapped, CartPoleEnv)
    first.reset(seed=0)
    second.reset(seed=0)
    first.step(1)
    assert not np.array_equal(first.unwrapped.state, second.unwrapped.state)


def test_dicts_are_flattened_and_their_names_kept():
    env_factory = factory(Goal, horizon=20)
    assert env_factory.horizon == 20
    assert env_factory.name == "Goal"
    assert env_factory.observation_space.shape == (6,)
    assert env_factory.names == (
        *("achieved_goal.0", "achieved_goal.1", "desired_goal.0", "desired_goal.1"),
        *("observation.0", "observation.1"),
    )
    seen, _ = env_factory.make().reset(seed=3)
    own, _ = Goal().reset(seed=3)
    np.testing.assert_array_equal(seen, env_factory.flat(own))
    np.testing.assert_array_equal(seen[2:4], own["desired_goal"])


def test_vectors_are_left_as_they_are():
    env_factory = factory("CartPole-v1")
    assert (env_factory.names, env_factory.own_observations) == (None, None)
    assert not isinstance(env_factory.make(), gym.wrappers.FlattenObservation)
    assert env_factory.flat(SEEN) is SEEN
    # the user has flattened it: names are known, and its own observations are vectors
    flat = factory(lambda: gym.wrappers.FlattenObservation(Goal()), horizon=5)
    assert flat.names == factory(Goal, horizon=5).names
    assert flat.own_observations is None


def test_copies_of_an_instance_keep_its_arguments():
    env_factory = factory(gym.make("Pendulum-v1", g=3.0))
    assert env_factory.make().unwrapped.g == 3.0


def test_an_instance_that_nobody_can_copy_is_refused():
    with pytest.raises(ValueError, match=r"cannot be copied; pass a function"):
        factory(Counting(), horizon=5)


@pytest.mark.parametrize("name", ["NoSuchThing-v0", "CartPole-v77", "not a name"])
def test_an_unknown_id_is_named(name):
    with pytest.raises(ValueError, match="unknown environment") as raised:
        factory(name)
    assert repr(name) in str(raised.value)


@pytest.mark.parametrize("environment", [None, 3])
def test_what_is_no_environment_is_refused(environment):
    with pytest.raises(ValueError, match=r"must be an id, a gymnasium\.Env or a function"):
        factory(environment, horizon=5)


def test_a_function_that_makes_something_else_is_refused():
    with pytest.raises(ValueError, match=r"returned 'CartPole-v1', not a gymnasium\.Env"):
        factory(lambda: "CartPole-v1", horizon=5)


@pytest.mark.parametrize("horizon", [0, -3, True])
def test_a_horizon_is_a_positive_number(horizon):
    with pytest.raises(ValueError, match=r"horizon is .* must be a positive number of steps"):
        factory("CartPole-v1", horizon=horizon)


def test_a_class_that_cannot_be_rendered_says_so():
    class Bare(gym.Env):
        observation_space = action_space = gym.spaces.Box(-1, 1, (1,))

    made = factory(Bare, 5)
    with pytest.raises(ValueError, match=r"Bare cannot be called with \(render_mode='rgb_array'\)"):
        made.make(render_mode="rgb_array")
