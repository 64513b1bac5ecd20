"""What every method has to keep to, whichever it is."""

from pathlib import Path
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import pytest

from ilfo.agents.agent import Agent
from ilfo.agents.callbacks import Callback
from ilfo.agents.seeds import one_seed
from ilfo.data.demonstrations import Demonstrations
from ilfo.methods import METHODS
from ilfo.runs.launch import resume, start
from ilfo.runs.loading import load_best
from tests.helpers.agents import MACHINE, Scrambled, bits
from tests.helpers.methods import (
    BASELINES,
    STATE_ONLY,
    STEP,
    budget,
    demonstrations,
    demonstrations_of,
    environment_of,
    method_spec,
    small_baseline,
)

ITERATIONS = 4


class Stop(Callback):
    """Stops after two iterations."""

    def on_iteration(self, agent, log):
        return agent.iteration < 2


class Save(Callback):
    """Saves the agent after two iterations, and keeps the logs."""

    def __init__(self, path):
        self.path, self.logs = path, []

    def on_iteration(self, agent, log):
        self.logs.append(log)
        if agent.iteration == 2:
            agent.save(self.path)


class Trained(NamedTuple):
    agent: Agent
    halfway: Path
    """A checkpoint after two iterations."""
    logs: list


@pytest.fixture(scope="module", params=BASELINES)
def method(request):
    return request.param


@pytest.fixture(scope="module")
def trained(method, cache_home, tmp_path_factory) -> Trained:
    save = Save(tmp_path_factory.mktemp(method) / "halfway.npz")
    agent = small_baseline(method).learn(budget(method, ITERATIONS), save)
    return Trained(agent, save.path, save.logs)


def test_save_load_and_learn_more_equals_uninterrupted(method, trained):
    agent, halfway, _ = trained
    copy = METHODS[method].load(halfway, environment_of(method), demonstrations_of(method))
    assert copy.iteration == 2
    copy.learn(budget(method, ITERATIONS))
    assert bits(copy.state) == bits(agent.state)
    assert all(bits(copy.policy(k)) == bits(agent.policy(k)) for k in range(2))


def test_seeds_differ(trained):
    policies = [bits(one_seed(trained.agent.state.policy, k)) for k in range(2)]
    assert policies[0] != policies[1]


def test_a_loaded_agent_predicts(method, trained):
    agent, halfway, _ = trained
    loaded = METHODS[method].load(halfway)
    space = gym.make(environment_of(method)).action_space
    states = np.random.default_rng(0).normal(size=(5, agent.problem.state_dim))
    actions, _ = loaded.predict(states.astype(np.float32), deterministic=True)
    assert actions.shape == (5, *space.shape)
    assert all(space.contains(action) for action in actions)
    assert space.contains(np.asarray(loaded.predict(states[0])[0]))
    assert loaded.describe()["settings"] == agent.describe()["settings"]


def test_the_log_has_what_is_recorded(trained):
    for log in trained.logs:
        assert set(trained.agent.method.metrics) <= set(log)
        assert all(np.isfinite(log[name]).all() for name in trained.agent.method.metrics)


def poisoned(expert: Demonstrations) -> Demonstrations:
    """The same states, and actions of NaN."""
    return Demonstrations.from_arrays(
        [each.states for each in expert],
        terminal=[each.terminal for each in expert],
        actions=[np.full(len(each.states) - 1, np.nan) for each in expert],
    )


def test_neither_expert_actions_nor_rewards_have_an_influence(method, trained):
    """To the same bits on actions of NaN, for a method that did not ask for them, and on rewards
    of noise. MobILE's test is in tests/test_mobile.py."""
    needs = METHODS[method].method.needs
    if not needs.environment:
        pytest.skip("it takes no step, and reads both actions and returns")
    recorded = demonstrations_of(method)
    expert = recorded if needs.actions else poisoned(recorded)
    agent = small_baseline(method, expert, lambda: Scrambled(gym.make(environment_of(method))))
    agent.learn(2 * STEP)
    assert agent.demonstrations.has_actions == needs.actions
    assert bits(agent.state) == bits(METHODS[method].load(trained.halfway).state)


def test_who_sees_states_only():
    assert set(STATE_ONLY) == {"mobile", "bco", "gaifo", "dacfo", "ilpo"}


def test_actions_that_are_needed_are_read(method, trained):
    if not METHODS[method].method.needs.actions:
        pytest.skip("it sees states only")
    expert = demonstrations()
    turned = Demonstrations.from_arrays(
        [each.states for each in expert],
        terminal=[each.terminal for each in expert],
        actions=[1 - each.actions for each in expert],
    )
    agent = small_baseline(method, turned).learn(budget(method, 2), Stop())
    halfway = METHODS[method].load(trained.halfway)
    assert bits(agent.state.policy) != bits(halfway.state.policy)
    with pytest.raises(ValueError, match=f"{method} learns from the expert's actions"):
        small_baseline(method, expert.states_only())


def test_a_stopped_run_resumes_to_the_state_of_an_undisturbed_one(method, trained, tmp_path):
    file, run = tmp_path / "demos.npz", tmp_path / "run"
    demonstrations_of(method).save(file)
    start(method_spec(method, file, ITERATIONS), run, MACHINE, [Stop()])
    rows = (run / "metrics.csv").read_bytes()
    summary = resume(run, MACHINE)
    assert bits(METHODS[method].load(run / "last.npz").state) == bits(trained.agent.state)
    assert (run / "metrics.csv").read_bytes().startswith(rows)
    assert summary["method"] == method
    assert summary["chosen_by"] == METHODS[method].method.selections[0].rule
    assert load_best(run).method.name == method
