"""BC-O: exploring first, inferring what the expert did, and saying when that is a guess."""

import warnings

import jax
import numpy as np
import pytest

from ilfo.agents.callbacks import Callback
from ilfo.agents.method import LearningWarning
from ilfo.agents.seeds import one_seed
from ilfo.data.demonstrations import Demonstrations
from ilfo.methods.bco import BCO
from tests.helpers.agents import HORIZON, bits
from tests.helpers.environments import Line, middle_seekers, towards_the_middle
from tests.helpers.methods import STEP, small_baseline

AWAY = np.array([[-0.9], [-0.5], [-0.2], [0.2], [0.5], [0.9]], np.float32)
"""Places of Line where the right action is plain."""


class Watch(Callback):
    def __init__(self):
        self.policies, self.logs = [], []

    def on_start(self, agent):
        self.policies.append(agent.state.policy)

    def on_iteration(self, agent, log):
        self.policies.append(agent.state.policy)
        self.logs.append(log)


@pytest.fixture(scope="module")
def watched(cache_home):
    agent, watch = small_baseline("bco"), Watch()
    agent.learn(4 * STEP, watch)
    return agent, watch


def test_the_untrained_policy_explores_and_the_learned_one_acts_behind_that(watched):
    _, watch = watched  # explore=2
    first, second, third, fourth, _ = map(bits, watch.policies)
    assert first == second
    assert second != third != fourth


def test_the_choice_is_among_learned_policies(watched):
    agent, watch = watched
    mmd = np.stack([log["mmd"] for log in watch.logs])[2:]
    np.testing.assert_array_equal(agent.choice().iteration, 2 + mmd.argmin(0))
    np.testing.assert_array_equal(agent.choice().value, mmd.min(0))


def test_without_acting_on_it_the_newest_is_returned(cache_home):
    """BC-O(0)."""
    agent = small_baseline("bco", seeds=1).learn(2 * STEP)
    assert bits(agent.choice().policy) == bits(agent.state.learned)
    assert np.isinf(agent.choice().value).all()
    np.testing.assert_array_equal(agent.choice().iteration, 2)  # all samples have a part in it


def test_the_log_tells_accuracy_confidence_and_coverage(watched):
    log = watched[1].logs[-1]
    for name in ("inverse_accuracy", "confidence", "coverage"):
        assert ((log[name] >= 0) & (log[name] <= 1)).all()


def test_states_that_were_never_near_are_warned_of(cache_home):
    """The expert stands beyond where CartPole can go."""
    states = np.random.default_rng(0).normal(size=(1, 50, 4)).astype(np.float32) + 30.0
    expert = Demonstrations.from_arrays(states, terminal=False)
    with pytest.warns(LearningWarning, match="covers only 0% of the demonstrated states"):
        agent = small_baseline("bco", expert, seeds=1, accept_anyway=True).learn(2 * STEP)
    assert len(agent.remarks()) == 1


def test_covered_states_are_not_warned_of(cache_home):
    """The demonstrations are the agent's own."""
    agent = small_baseline("bco", seeds=1)
    assert agent.remarks() == []
    played = list(_random_play(agent))
    ended = [episode.terminal for episode in played]
    expert = Demonstrations.from_arrays([episode.states for episode in played], terminal=ended)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small_baseline("bco", expert, seeds=1).learn(4 * STEP)


def test_on_a_line_the_true_actions_are_inferred_and_cloned(cache_home):
    changes = (
        "inverse.plan.passes=20",
        "inverse.optimiser.learning_rate=0.01",
        "cloning.plan.passes=20",
        "cloning.optimiser.learning_rate=0.01",
    )
    agent = small_baseline("bco", middle_seekers(HORIZON), Line, changes=changes).learn(6 * STEP)
    before, after = agent.survey.steps.before, agent.survey.steps.after
    for index in range(len(agent.seeds)):
        inferred = jax.vmap(one_seed(agent.state.inverse, index).model.infer)(before, after)
        assert (np.asarray(inferred) == (after < before)[:, 0]).mean() > 0.98
        taken = [agent.policy(index).distribution(place).mode() for place in AWAY]
        np.testing.assert_array_equal(taken, towards_the_middle(AWAY[:, 0]))


def _random_play(agent: BCO):
    agent._prepare()
    return agent.play(one_seed(agent.state.policy, 0), episodes=20, seed=5, greedy=False)
