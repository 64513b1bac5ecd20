"""What `ilfo.dynamics.bonus` promises, for every implementation: add a line to `CASES`."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilfo.common.buffer import Buffer
from ilfo.common.spaces import DiscreteActions
from ilfo.common.types import Transition
from ilfo.dynamics.bonus import AbstractBonus, BufferNormalised, CalibratedBonus, NoBonus
from ilfo.dynamics.features import RandomFourier
from ilfo.dynamics.knr import KNRDynamics

DIM, ROWS, CAPACITY = 2, 10, 16
ACTIONS = DiscreteActions(3)
CASES: dict[str, AbstractBonus] = {
    "buffer-normalised": BufferNormalised(),
    "buffer-maximum": BufferNormalised(quantile=1.0, soft=False),
    "calibrated": CalibratedBonus(),
    "none": NoBonus(),
}

every_case = pytest.mark.parametrize("name", CASES)
UNCERTAINTY = st.floats(0, width=32, allow_nan=False, allow_infinity=False)


@cache
def memory(rows=ROWS, garbage=0.0) -> Buffer:
    """Transitions, in a buffer whose empty slots hold `garbage`."""
    rng = np.random.default_rng(0)
    state = rng.normal(size=(rows, DIM)).astype(np.float32)
    action = rng.integers(ACTIONS.count, size=rows, dtype=np.int32)
    nothing = np.zeros(rows, bool)
    one = Transition(jnp.zeros(DIM), jnp.zeros((), jnp.int32), jnp.zeros(DIM), jnp.zeros((), bool))
    empty = Buffer.empty(one, CAPACITY, 2, 2)
    spoilt = jax.tree.map(lambda x: x + jnp.asarray(garbage, x.dtype), empty.recent.items.state)
    empty = eqx.tree_at(lambda b: b.recent.items.state, empty, spoilt)
    return empty.push(Transition(state, action, state, nothing), nothing)


def draw_model(key):
    """Calibrated, has seen nothing yet, and is uncertain everywhere."""
    return KNRDynamics(RandomFourier(count=4)).init(DIM, ACTIONS, key=key).model


_draw = eqx.filter_jit(draw_model)
_fit = eqx.filter_jit(lambda spec, model, buffer: spec.fit(model, buffer))
_apply = eqx.filter_jit(lambda bonus, sigma: bonus(sigma))


@cache
def fitted(name, seed=0):
    return _fit(CASES[name], _draw(jax.random.key(seed)), memory())


@every_case
@settings(max_examples=50, deadline=None)
@given(st.lists(UNCERTAINTY, min_size=8, max_size=8))
def test_a_bonus_lies_between_zero_and_one_and_grows_with_the_uncertainty(name, sigma):
    sigma = np.sort(np.asarray(sigma, np.float32))
    bonus = np.asarray(_apply(fitted(name), sigma))
    assert ((bonus >= 0) & (bonus <= 1)).all()
    assert (np.diff(bonus) >= 0).all()


@every_case
def test_the_sure_earn_nothing(name):
    assert fitted(name)(jnp.zeros(())) == 0


@every_case
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)], ids=str)
def test_shapes_and_types(name, shape):
    bonus = _apply(fitted(name), jnp.ones(shape))
    assert (bonus.shape, bonus.dtype) == (shape, jnp.float32)


@every_case
def test_the_limit_is_a_positive_number(name):
    """It goes into the log."""
    limit = fitted(name).limit
    assert (limit.shape, limit.dtype) == ((), jnp.float32)
    assert limit > 0


@every_case
def test_a_spec_is_static(name):
    """It may be a part of what a compiled function is known by."""
    spec = CASES[name]
    assert not jax.tree.leaves(eqx.filter(spec, eqx.is_array))
    again = jax.tree.unflatten(jax.tree.structure(spec), jax.tree.leaves(spec))
    assert again is not spec
    assert again == spec
    assert hash(again) == hash(spec)


@every_case
def test_jit_equals_no_jit(name):
    plain = CASES[name].fit(draw_model(jax.random.key(0)), memory())
    np.testing.assert_allclose(plain.limit, fitted(name).limit, rtol=1e-5)


@every_case
def test_same_model_same_bits(name):
    assert eqx.tree_equal(fitted(name), fitted.__wrapped__(name))


@every_case
def test_seeds_side_by_side_equal_single_ones(name):
    keys = jax.vmap(jax.random.key)(jnp.arange(3))
    together = eqx.filter_vmap(lambda key: CASES[name].fit(draw_model(key), memory()))(keys)
    alone = [fitted(name, seed).limit for seed in range(3)]
    np.testing.assert_allclose(together.limit, alone, rtol=1e-5)


@every_case
def test_empty_slots_of_the_buffer_have_no_influence(name):
    clean, spoilt = memory(), memory(garbage=1e3)
    assert not eqx.tree_equal(clean, spoilt)
    model = _draw(jax.random.key(0))
    assert eqx.tree_equal(_fit(CASES[name], model, clean), _fit(CASES[name], model, spoilt))


@every_case
def test_an_empty_buffer_gives_a_bonus_all_the_same(name):
    bonus = _fit(CASES[name], _draw(jax.random.key(0)), memory(rows=0))
    earned = np.asarray(bonus(jnp.array([0.0, 1.0])))
    assert ((earned >= 0) & (earned <= 1)).all()
