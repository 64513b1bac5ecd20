"""Dicts of observations and vectors of discrete actions, with every method that can take them."""

import numpy as np
import pytest

from ilfo.environments.factory import factory
from ilfo.experts.actors import play_actor
from ilfo.experts.record import with_metadata
from ilfo.methods import METHODS
from ilfo.policies import portable, reader
from tests.helpers.agents import bits
from tests.helpers.environments import Goal, Switches, goal_seekers, to_the_goal
from tests.helpers.methods import STEP, small_baseline

pytestmark = pytest.mark.filterwarnings("ignore::ilfo.agents.method.LearningWarning")


@pytest.mark.parametrize("method", ["bc", "bco", "gail", "mobile"])  # gaifo: gail without actions
def test_learning_predicting_saving_and_exporting(method, cache_home, tmp_path):
    environment = Switches if method == "bco" else Goal
    agent = small_baseline(method, goal_seekers(environment), environment, seeds=1)
    agent.learn(STEP if method != "bc" else None)
    observation, _ = environment().reset(seed=0)
    action, _ = agent.predict(observation)
    assert environment.action_space.contains(action)
    batch = np.stack([agent.factory.flat(observation)] * 3)
    actions, _ = agent.predict(batch, deterministic=True)
    agent.save(tmp_path / "agent.npz")
    loaded = METHODS[method].load(tmp_path / "agent.npz")
    assert bits(loaded.state) == bits(agent.state)
    np.testing.assert_array_equal(loaded.predict(batch, deterministic=True)[0], actions)
    shape = agent.problem.observation_shape
    portable.write(
        portable.to_arrays(agent.policy(), agent.problem.actions, shape), tmp_path / "policy.npz"
    )
    np.testing.assert_array_equal(reader.Policy(tmp_path / "policy.npz")(batch), actions)
    with pytest.raises(ValueError, match="loaded without an environment"):
        loaded.predict(observation)


def test_ilpo_says_that_it_cannot():
    with pytest.raises(ValueError, match=r"ilpo needs single discrete actions, .* vectors of 2"):
        small_baseline("ilpo", goal_seekers(), Goal)


def test_a_clone_takes_the_experts_actions(cache_home):
    """Each entry of the action follows its own part of the goal."""
    changes = ("policy.width=32", "passes=60", "every=30", "cloning.optimiser.learning_rate=0.01")
    demos = goal_seekers(count=20)
    agent = small_baseline("bc", demos, Goal, seeds=1, changes=changes).learn()
    states = np.concatenate([trajectory.states[:-1] for trajectory in demos])
    taken = np.concatenate([trajectory.actions for trajectory in demos])
    cloned, _ = agent.predict(states, deterministic=True)
    assert ((cloned == taken).mean(0) > 0.9).all()


def test_recorded_actions_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"2 whole numbers per step, from \[0, 0\] to \[1, 1\]"):
        small_baseline("bc", goal_seekers(Goal), Switches)


def test_findings_call_dimensions_by_their_names():
    demos = goal_seekers()
    shifted = demos.from_arrays(
        [each.states + np.float32([0, 0, 7, 0, 0, 0]) for each in demos], terminal=False
    )
    agent = small_baseline("gaifo", shifted, Goal)
    assert any("dimension 2 (desired_goal.0)" in finding.text for finding in agent.findings)
    held = shifted.from_arrays([each.states[:, 2:4] for each in shifted], terminal=False)
    part = small_baseline("gaifo", held.holding((2, 3)), Goal)
    assert any("dimension 0 (desired_goal.0)" in finding.text for finding in part.findings)


def test_an_actor_sees_the_environment_as_it_is_and_names_are_recorded():
    seen = []

    def act(observation):
        seen.append(observation)
        return to_the_goal(observation)

    env_factory = factory(Goal, 5)
    played = list(play_actor(env_factory.make(), act, episodes=1, seed=0))
    assert set(seen[0]) == {"observation", "achieved_goal", "desired_goal"}
    assert played[0].states.shape == (6, 6)
    np.testing.assert_array_equal(played[0].states[0], env_factory.flat(seen[0]))
    demos = with_metadata(env_factory, played, 0, {})
    assert demos.names == env_factory.names
