"""Recordings of every k-th state, read as if actions had been held: by hand, and in MobILE."""

import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.seeds import one_seed
from ilfo.common.buffer import Buffer
from ilfo.common.spaces import BoxActions
from ilfo.common.types import DemonstratedSteps, Transition
from ilfo.dynamics.base import AbstractModel
from ilfo.methods.held_actions import holding, missed
from ilfo.methods.mobile import MobILE
from ilfo.policies.base import AbstractPolicy, Gaussian
from ilfo.runs.spec import apply_changes
from tests.helpers.agents import HORIZON, STEP, bits, small_agent
from tests.helpers.environments import Slide, slides_to_the_middle
from tests.methods.test_inference import SETTINGS

ACTIONS = BoxActions((-1.0,), (1.0,), (1,))
EVERY = 3


class Moves(AbstractModel):
    """s' = s + a, which is also what the world does."""

    def sample(self, state, action, *, key):
        return self.mean(state, action)

    def mean(self, state, action):
        return state + action

    def uncertainty(self, state, action):
        return jnp.zeros(())


class Always(AbstractPolicy):
    """The same action everywhere, with noise."""

    action: float

    def distribution(self, state):
        return Gaussian(jnp.full(1, self.action), jnp.zeros(1))


def remembered(actions: list[float], terminal: list[bool]) -> Buffer:
    taken = np.array(actions, np.float32)[:, None]
    ends, size = np.array(terminal), len(actions)
    new = Transition(np.zeros_like(taken), taken, taken, ends)
    empty = Buffer.empty(Transition.zeros(1, ACTIONS), size + 1, 2, 2)
    return empty.push(new, np.zeros(size, bool))


def test_held_actions_lead_on_in_the_model_and_not_beyond_an_ending():
    seen = holding(Moves(), remembered([0.5, -0.25, 1.0], [False, False, True]), EVERY)
    count = int(seen.recent.count)
    assert count == 2
    np.testing.assert_allclose(seen.recent.items.next_state[:count, 0], [1.5, -0.75])
    np.testing.assert_allclose(seen.recent.items.action[:count, 0], [0.5, -0.25])


def test_clones_are_compared_by_where_they_lead_from_one_demonstrated_state_to_the_next():
    before = np.array([[0.0], [3.0]], np.float32)
    after = before + np.array([[0.9], [1.5]], np.float32)  # changes of 0.9 and 1.5: deviation 0.3
    steps = DemonstratedSteps.from_pairs(jnp.asarray(np.stack([before, after], 1)))
    off = lambda action: float(missed(Moves(), ACTIONS, Always(action), steps, EVERY))
    assert off(0.4) == pytest.approx((0.3**2 + 0.3**2) / 2 / 0.3**2, rel=1e-4)
    assert off(0.5) == pytest.approx((0.6**2 + 0.0**2) / 2 / 0.3**2, rel=1e-4)
    assert off(-1.0) == pytest.approx(4 * (0.9**2 + 1.5**2) / 2 / 0.3**2, rel=1e-4)
    assert off(-1.0) > off(0.0) > off(0.5) > off(0.4)


def sparse(*changes: str, seeds: int = 1) -> MobILE:
    expert = slides_to_the_middle(HORIZON // 2).recorded_every(2)
    return small_agent(Slide, expert, apply_changes(SETTINGS, changes), seeds=seeds)


def test_the_clone_that_comes_nearer_acts(cache_home):
    agent = sparse(seeds=2)
    agent.learn(3 * STEP)
    state = agent.state.inference
    for index in range(2):
        one, acts = one_seed(state, index), one_seed(state.acting_by_seed, index)
        nearer = one.held.clone if bool(one.holds) else one.clone
        assert bits(one.acting) == bits(acts) == bits(nearer)
    assert bits(state.held.clone) != bits(state.clone)


def test_there_is_one_reading_at_the_control_rate_and_without_the_second(cache_home):
    assert sparse("inference.held=false").learn(STEP).state.inference.held is None
    dense = small_agent(Slide, slides_to_the_middle(HORIZON), SETTINGS, seeds=1)
    state = dense.learn(STEP).state.inference
    assert state.held is None
    assert bits(state.acting) == bits(state.clone)
