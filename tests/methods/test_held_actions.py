"""Recordings of every k-th state, read as if actions had been held: by hand, and in MobILE."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from ilfo.agents.seeds import one_seed
from ilfo.common.buffer import Buffer
from ilfo.common.spaces import BoxActions
from ilfo.common.types import DemonstratedSteps, Normaliser, Transition
from ilfo.dynamics.base import AbstractModel
from ilfo.methods.held_actions import holding, missed, read_again
from ilfo.methods.inference import InferenceState
from ilfo.methods.mobile import MobILE
from ilfo.policies.base import AbstractPolicy, Gaussian
from ilfo.rollouts.imagine import World
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

    action: Float[Array, ""] = eqx.field(converter=jnp.asarray)

    def distribution(self, state):
        return Gaussian(self.action[None], jnp.zeros(1))


def remembered(actions: list[float], terminal: list[bool]) -> Buffer:
    taken = np.array(actions, np.float32)[:, None]
    ends, size = np.array(terminal), len(actions)
    new = Transition(np.zeros_like(taken), taken, taken, ends)
    empty = Buffer.empty(Transition.zeros(1, ACTIONS), size + 1, 2, 2)
    return empty.push(new, np.zeros(size, bool))


def trusted_within(radius: float) -> World:
    return World(Moves(), None, None, Normaliser.identity(1), jnp.asarray(radius))


def test_held_actions_lead_on_in_the_model_and_not_beyond_an_ending_or_what_is_trusted():
    buffer = remembered([0.5, -0.25, 0.6, 1.0], [False, False, True, False])
    seen = holding(trusted_within(2.0), buffer, EVERY)
    count = int(seen.recent.count)
    assert count == 2
    np.testing.assert_allclose(seen.recent.items.next_state[:count, 0], [1.5, -0.75])
    np.testing.assert_allclose(seen.recent.items.action[:count, 0], [0.5, -0.25])
    assert int(holding(trusted_within(4.0), buffer, EVERY).recent.count) == 3


def test_clones_are_compared_by_where_they_lead_from_one_demonstrated_state_to_the_next():
    before = np.array([[0.0], [3.0]], np.float32)
    after = before + np.array([[0.9], [1.5]], np.float32)  # changes of 0.9 and 1.5: deviation 0.3
    steps = DemonstratedSteps.from_pairs(jnp.asarray(np.stack([before, after], 1)))
    off = lambda action: float(missed(Moves(), ACTIONS, Always(action), steps, EVERY))
    assert off(0.4) == pytest.approx((0.3**2 + 0.3**2) / 2 / 0.3**2, rel=1e-4)
    assert off(0.5) == pytest.approx((0.6**2 + 0.0**2) / 2 / 0.3**2, rel=1e-4)
    assert off(-1.0) == pytest.approx(4 * (0.9**2 + 1.5**2) / 2 / 0.3**2, rel=1e-4)
    assert off(-1.0) > off(0.0) > off(0.5) > off(0.4)


class Says(eqx.Module):
    """In the place of `Inference`: a fit finds what is already there, and these actions."""

    def fit(self, state, buffer, steps, scatter, *, key):
        return state, jnp.full((steps.before.shape[0], 1), state.clone.action), {}


def reading(action: float, held: InferenceState | None = None) -> InferenceState:
    unused = dict.fromkeys(("inverse", "explorer", "fitted", "optimiser"))
    numbers = dict.fromkeys(("fits", "belief", "untrained"), jnp.zeros(()))
    return InferenceState(clone=Always(action), held=held, holds=None, **unused, **numbers)


@pytest.mark.parametrize(("first", "second", "holds"), [(0.4, 0.5, False), (-1.0, 0.5, True)])
def test_the_reading_whose_clone_comes_nearer_is_taken(first, second, holds):
    before = np.array([[0.0], [3.0]], np.float32)
    after = before + np.array([[0.9], [1.5]], np.float32)
    steps = DemonstratedSteps.from_pairs(jnp.asarray(np.stack([before, after], 1)))
    problem = SimpleNamespace(every=EVERY, actions=ACTIONS)
    state, actions, log = read_again(
        Says(),
        problem,
        trusted_within(9.0),
        remembered([0.5], [False]),
        reading(first, held=reading(second)),
        jnp.full((2, 1), first),
        steps,
        0.0,
        key=jax.random.key(0),
    )
    assert bool(state.holds) is bool(log["held"]) is holds
    np.testing.assert_allclose(actions, second if holds else first)
    assert float(state.acting.action) == pytest.approx(second if holds else first)


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


def test_a_loaded_agent_goes_on_as_if_it_had_not_been_saved(cache_home, tmp_path):
    whole, half = sparse().learn(4 * STEP), sparse().learn(2 * STEP)
    half.save(tmp_path / "half.npz")
    expert = slides_to_the_middle(HORIZON // 2).recorded_every(2)
    again = MobILE.load(tmp_path / "half.npz", Slide, expert).learn(4 * STEP)
    assert bits(again.state) == bits(whole.state)


def test_there_is_one_reading_at_the_control_rate_and_without_the_second(cache_home):
    assert sparse("inference.held=false").learn(STEP).state.inference.held is None
    dense = small_agent(Slide, slides_to_the_middle(HORIZON), SETTINGS, seeds=1)
    state = dense.learn(STEP).state.inference
    assert state.held is None
    assert bits(state.acting) == bits(state.clone)
