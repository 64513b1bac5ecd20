"""BC-O: exploring first, inferring what the expert did, and saying when that is a guess."""

import warnings

import numpy as np
import pytest

from ilfo.baselines.bco import BCO
from ilfo.demonstrations import Demonstrations
from ilfo.logging import Callback
from ilfo.method import LearningWarning
from tests.rivals import STEP, small_rival
from tests.small import bits


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
    agent, watch = small_rival("bco"), Watch()
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
    agent = small_rival("bco", seeds=1).learn(2 * STEP)
    assert bits(agent.choice().policy) == bits(agent.state.learned)
    assert np.isinf(agent.choice().value).all()


def test_the_log_tells_accuracy_confidence_and_coverage(watched):
    log = watched[1].logs[-1]
    for name in ("inverse_accuracy", "confidence", "coverage"):
        assert ((log[name] >= 0) & (log[name] <= 1)).all()


def test_states_that_were_never_near_are_warned_of(cache_home):
    """The expert stands beyond where CartPole can go."""
    states = np.random.default_rng(0).normal(size=(1, 50, 4)).astype(np.float32) + 30.0
    expert = Demonstrations.from_arrays(states, terminal=False)
    with pytest.warns(LearningWarning, match="covers only 0% of the demonstrated states"):
        agent = small_rival("bco", expert, seeds=1).learn(2 * STEP)
    assert len(agent.remarks()) == 1


def test_covered_states_are_not_warned_of(cache_home):
    """The demonstrations are the agent's own."""
    agent = small_rival("bco", seeds=1)
    assert agent.remarks() == []
    played = list(_random_play(agent))
    expert = Demonstrations.from_arrays([each.states for each in played], terminal=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small_rival("bco", expert, seeds=1).learn(4 * STEP)


def _random_play(agent: BCO):
    agent._prepare()
    from ilfo.parallel import one_seed

    return agent.play(one_seed(agent.state.policy, 0), episodes=20, seed=5, greedy=False)
