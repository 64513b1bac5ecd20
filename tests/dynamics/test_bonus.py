import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.types import Transition
from ilfo.dynamics.base import AbstractModel
from ilfo.dynamics.bonus import BufferNormalised, CalibratedBonus, NoBonus
from ilfo.dynamics.knr import KNRDynamics
from ilfo.methods.mobile import MobILESettings


class Known(AbstractModel):
    """σ(s, a) = |s| + a."""

    def sample(self, state, action, *, key):
        return state

    def mean(self, state, action):
        return state

    def uncertainty(self, state, action):
        return jnp.abs(state).sum() + action


def filled(states, actions, capacity=8):
    one = Transition(jnp.zeros(1), jnp.zeros(()), jnp.zeros(1), jnp.zeros((), bool))
    state = jnp.asarray(states, jnp.float32)[:, None]
    nothing = jnp.zeros(len(states), bool)
    new = Transition(state, jnp.asarray(actions, jnp.float32), state, nothing)
    return Buffer.empty(one, capacity, 2, 2).push(new, nothing)


def test_the_papers_limit_is_the_largest_uncertainty_of_the_valid_transitions():
    bonus = BufferNormalised(quantile=1.0, soft=False).fit(
        Known(), filled([1.0, -3.0, 2.0], [0.0, 0.5, 1.0])
    )
    assert bonus.limit == 3.5


def test_one_outlier_does_not_set_the_limit():
    usual = np.linspace(0.5, 1.5, 100)
    limit = lambda states: BufferNormalised().fit(Known(), filled(states, 0 * states, 128)).limit
    np.testing.assert_allclose(limit(usual), np.quantile(usual, 0.95), rtol=1e-5)
    np.testing.assert_allclose(limit(np.append(usual, 50.0)), limit(usual), rtol=0.02)


def test_softly_what_is_little_known_can_be_told_from_what_is_not_known_at_all():
    bonus = BufferNormalised().fit(Known(), filled([2.0] * 4, [0.0] * 4))
    sigma = jnp.array([0.0, 2.0, 6.0, 18.0, 3e38])
    np.testing.assert_allclose(bonus(sigma), [0, 0.5, 0.75, 0.9, 1], rtol=1e-6)


def test_it_is_the_ratio_cut_off_at_one():
    bonus = BufferNormalised(quantile=1.0, soft=False).fit(Known(), filled([4.0, 1.0], [0.0, 0.0]))
    sigma = jnp.array([0.0, 1.0, 3.0, 4.0, 5.0, 1e9])
    np.testing.assert_allclose(bonus(sigma), [0, 0.25, 0.75, 1, 1, 1], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 0.3, 7e4])
def test_it_is_one_where_the_buffer_is_most_uncertain_and_nowhere_else(scale):
    buffer = filled(scale * np.random.default_rng(0).normal(size=6), np.zeros(6))
    seen = buffer.recent.items
    sigma = jax.vmap(Known().uncertainty)(seen.state, seen.action)
    bonus = np.asarray(BufferNormalised(quantile=1.0, soft=False).fit(Known(), buffer)(sigma))
    # XLA divides by multiplying with the reciprocal: x/x may miss 1 by its last bit, from below
    assert 1 - 1e-7 <= bonus.max() <= 1
    assert bonus.argmax() == sigma.argmax()
    assert np.sort(bonus)[-2] < 0.99


def test_a_model_that_is_sure_of_everything_gives_nothing():
    bonus = BufferNormalised().fit(Known(), filled([0.0, 0.0], [0.0, 0.0]))
    assert bonus(jnp.zeros(())) == 0


def test_no_bonus_is_zero_everywhere():
    bonus = NoBonus().fit(Known(), filled([1.0], [0.0]))
    np.testing.assert_array_equal(bonus(jnp.array([0.0, 1.0, 1e30])), 0)


@pytest.mark.parametrize(
    "spec",
    [BufferNormalised(), BufferNormalised(1.0, soft=False), NoBonus()],
    ids=["normalised", "paper", "none"],
)
def test_where_the_model_has_no_answer_nothing_is_to_be_explored(spec):
    """Neither in the buffer, where one such step would spoil the scale, nor in a rollout."""
    buffer = filled([2.0, np.nan, np.inf], [0.0, 0.0, 0.0])
    bonus = spec.fit(Known(), buffer)
    assert not np.isnan(bonus.limit)
    scale = 0.0 if isinstance(spec, NoBonus) else 1 / 3 if spec.soft else 0.5
    np.testing.assert_allclose(bonus(jnp.array([jnp.nan, jnp.inf, 1.0])), [0, 0, scale])


def test_the_calibrated_bonus_is_the_theorems_over_twice_the_horizon():
    bonus = CalibratedBonus().fit(Known(), filled([1.0], [0.0]))
    np.testing.assert_allclose(bonus(jnp.array([0.0, 0.5, 2.0, 9.0])), [0, 0.25, 1, 1])


def test_the_calibrated_bonus_takes_calibrated_dynamics_only():
    MobILESettings(dynamics=KNRDynamics(), bonus=CalibratedBonus())
    with pytest.raises(ValueError, match="EnsembleDynamics does not promise"):
        MobILESettings(bonus=CalibratedBonus())
