"""What every method has to keep to, whichever it is."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo import launch
from ilfo.demonstrations import Demonstrations
from ilfo.launch import METHODS, load_best, resume, start
from ilfo.logging import Callback
from ilfo.parallel import one_seed
from tests.rivals import (
    ONLINE_RIVALS,
    RIVALS,
    STATE_ONLY,
    STEP,
    budget,
    demonstrations,
    rival_order,
    small_rival,
)
from tests.small import MACHINE, Scrambled, bits

ITERATIONS = 4
STATES = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


class Stop(Callback):
    """Saves the agent after some iterations, or stops there."""

    def __init__(self, after: int, path=None):
        self.after, self.path = after, path

    def on_iteration(self, agent, log):
        if agent.iteration == self.after and self.path is not None:
            agent.save(self.path)
        return self.path is not None or agent.iteration < self.after


@pytest.fixture(scope="module", params=RIVALS)
def method(request):
    return request.param


@pytest.fixture(scope="module")
def trained(method, cache_home, tmp_path_factory):
    """An agent after its iterations, and a checkpoint of two of them."""
    halfway = tmp_path_factory.mktemp(method) / "halfway.npz"
    agent = small_rival(method).learn(budget(method, ITERATIONS), Stop(2, halfway))
    return agent, halfway


def test_save_load_and_learn_more_equals_uninterrupted(method, trained):
    agent, halfway = trained
    copy = METHODS[method].load(halfway, "CartPole-v1", demonstrations())
    assert copy.iteration == 2
    copy.learn(budget(method, ITERATIONS))
    assert bits(copy.state) == bits(agent.state)
    assert all(bits(copy.policy(k)) == bits(agent.policy(k)) for k in range(2))


def test_seeds_differ(trained):
    policies = [bits(one_seed(trained[0].state.policy, k)) for k in range(2)]
    assert policies[0] != policies[1]


def test_a_loaded_agent_predicts(method, trained):
    agent, halfway = trained
    loaded = METHODS[method].load(halfway)
    actions, _ = loaded.predict(STATES, deterministic=True)
    assert actions.shape == (5,)
    assert set(actions.tolist()) <= {0, 1}
    assert np.shape(loaded.predict(STATES[0])[0]) == ()
    assert loaded.describe()["settings"] == agent.describe()["settings"]


def test_the_log_has_what_is_recorded(method):
    logs = []

    class Watch(Callback):
        def on_iteration(self, agent, log):
            logs.append(log)
            return False

    agent = small_rival(method).learn(budget(method, 1), Watch())
    assert set(agent.metrics) <= set(logs[0])
    assert all(np.isfinite(logs[0][name]).all() for name in agent.metrics)


@pytest.mark.parametrize("state_only", STATE_ONLY)
def test_expert_actions_have_no_influence(state_only, cache_home):
    """Trained on actions of NaN, a method that does not declare them has the same bits."""
    expert = demonstrations()
    poisoned = Demonstrations.from_arrays(
        [each.states for each in expert],
        terminal=[each.terminal for each in expert],
        actions=[np.full(len(each.states) - 1, np.nan) for each in expert],
    )
    clean, other = (
        small_rival(state_only, each).learn(budget(state_only, 2)) for each in (expert, poisoned)
    )
    assert not other.demonstrations.has_actions
    assert bits(clean.state) == bits(other.state)


@pytest.mark.parametrize("online", ONLINE_RIVALS)
def test_rewards_have_no_influence(online, trained, method, cache_home):
    if online != method:
        pytest.skip("one method at a time")
    scrambled = lambda: Scrambled(gym.make("CartPole-v1"))
    agent = small_rival(online, environment=scrambled).learn(ITERATIONS * STEP)
    assert bits(agent.state) == bits(trained[0].state)


@pytest.mark.parametrize("needy", [name for name in METHODS if METHODS[name].needs.actions])
def test_actions_that_are_needed_are_read(needy, cache_home):
    expert = demonstrations()
    turned = Demonstrations.from_arrays(
        [each.states for each in expert],
        terminal=[each.terminal for each in expert],
        actions=[1 - each.actions for each in expert],
    )
    one, other = (small_rival(needy, each).learn(budget(needy, 2)) for each in (expert, turned))
    assert bits(one.state.policy) != bits(other.state.policy)
    with pytest.raises(ValueError, match=f"{needy} learns from the expert's actions"):
        small_rival(needy, expert.states_only())


def test_a_run_leaves_a_directory_and_resumes_to_the_same_bytes(method, cache_home, tmp_path):
    file = tmp_path / "demos.npz"
    demonstrations().save(file)
    order = rival_order(method, file, ITERATIONS)
    summary = start(order, tmp_path / "whole", MACHINE)
    start_agent = lambda: start(order, tmp_path / "torn", MACHINE, [Stop(2)])
    start_agent()
    resumed = resume(tmp_path / "torn", MACHINE)
    read = lambda name: (tmp_path / name / "metrics.csv").read_bytes()
    assert read("torn") == read("whole")
    assert resumed["seeds"] == summary["seeds"]
    assert summary["method"] == method
    assert summary["chosen_by"] == next(iter(METHODS[method].choices))
    assert load_best(tmp_path / "whole").method == method
    assert launch.order_of(launch.RunDirectory.open(tmp_path / "whole")).method == method
