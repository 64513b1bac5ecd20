"""What `ilfo.dynamics.termination` promises, for every implementation: add a line to `CASES`."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.fitting import SGD, Passes
from ilfo.common.types import Transition
from ilfo.dynamics.termination import (
    AbstractTermination,
    KnownTermination,
    LearnedTermination,
    NoTermination,
)
from ilfo.storage import checkpoint

DIM, ROWS, CAPACITY = 2, 20, 32


def far(state):
    return jnp.abs(state[0]) > 1


SMALL = {"width": 8, "plan": Passes(passes=2, batch_size=8)}
CASES: dict[str, AbstractTermination] = {
    "known": KnownTermination(far),
    "learned": LearnedTermination(odds=1.0, **SMALL),
    "learned-one-member-sgd": LearnedTermination(members=1, optimiser=SGD(), **SMALL),
    "none": NoTermination(),
}
LEARNED = [name for name, spec in CASES.items() if isinstance(spec, LearnedTermination)]

every_case = pytest.mark.parametrize("name", CASES)
STATES = 2 * np.random.default_rng(2).normal(size=(30, DIM)).astype(np.float32)


@cache
def memory(garbage=0.0) -> Buffer:
    """Steps and endings, in a buffer whose empty slots hold `garbage`."""
    rng = np.random.default_rng(0)
    reached = 2 * rng.normal(size=(ROWS, DIM)).astype(np.float32)
    new = Transition(
        np.zeros_like(reached), np.zeros(ROWS, np.int32), reached, np.abs(reached[:, 0]) > 1
    )
    one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), new)
    empty = Buffer.empty(one, CAPACITY, CAPACITY, 4)
    spoilt = jax.tree.map(
        lambda x: x + jnp.asarray(garbage, x.dtype), (empty.recent.items, empty.endings.items)
    )
    empty = eqx.tree_at(lambda b: (b.recent.items, b.endings.items), empty, spoilt)
    push = eqx.filter_jit(lambda buffer: buffer.push(new, jnp.zeros(ROWS, bool)))
    return push(empty)


# Compiled once per case: a spec is static.
_init = eqx.filter_jit(lambda spec, key: spec.init(DIM, key=key))
_fit = eqx.filter_jit(lambda spec, state, buffer, key: spec.fit(state, buffer, key=key))


@cache
def init(name, seed=0):
    return _init(CASES[name], jax.random.key(seed))


def fit(name, state, seed=1, buffer=None):
    buffer = memory() if buffer is None else buffer
    return _fit(CASES[name], state, buffer, jax.random.key(seed))


@cache
def fitted(name):
    return fit(name, init(name))[0]


judge = eqx.filter_jit(lambda rule, state: rule(state))
judge_all = eqx.filter_jit(lambda rule, states: jax.vmap(rule)(states))


@every_case
def test_a_rule_judges_one_state(name):
    for rule in (init(name).rule, fitted(name).rule):
        verdict = judge(rule, STATES[0])
        assert (verdict.shape, verdict.dtype) == ((), jnp.bool_)


@every_case
def test_jit_and_vmap_equal_a_loop(name):
    rule = fitted(name).rule
    together = judge_all(rule, STATES)
    assert together.shape == (len(STATES),)
    assert together[:5].tolist() == [bool(rule(state)) for state in STATES[:5]]
    assert together.tolist() == [bool(judge(rule, state)) for state in STATES]


@every_case
def test_the_log_holds_finite_numbers(name):
    _, log = fit(name, init(name))
    assert all(value.shape == () and jnp.isfinite(value) for value in log.values())
    assert ("termination_loss" in log) == (name in LEARNED)


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
def test_a_fit_keeps_every_shape_and_type(name):
    """Otherwise the next iteration would be compiled anew."""
    before, after = init(name), fitted(name)
    avals = lambda tree: jax.tree.map(jax.typeof, eqx.filter(tree, eqx.is_array))
    assert avals(before) == avals(after)
    # a checkpoint restores no weak type, so a run that went on from one would compile twice
    assert not any(aval.weak_type for aval in jax.tree.leaves(avals(before)))
    static = lambda tree: eqx.filter(tree, eqx.is_array, inverse=True)
    assert eqx.tree_equal(static(before), static(after))


@every_case
def test_same_key_same_bits(name):
    assert eqx.tree_equal(init(name), init.__wrapped__(name))
    assert eqx.tree_equal(fit(name, init(name)), fit(name, init(name)))


@pytest.mark.parametrize("name", LEARNED)
def test_another_key_another_fit(name):
    assert not eqx.tree_equal(init(name, 0), init(name, 1))
    assert not eqx.tree_equal(fit(name, init(name), 1), fit(name, init(name), 2))


@every_case
def test_seeds_side_by_side_equal_single_ones(name):
    spec = CASES[name]
    keys = jax.vmap(jax.random.key)(jnp.arange(2))

    def run(key):
        state, log = spec.fit(spec.init(DIM, key=key), memory(), key=jax.random.fold_in(key, 1))
        return state, log, jax.vmap(state.rule)(STATES)

    together = eqx.filter_jit(eqx.filter_vmap(run))(keys)
    for index in range(2):
        alone = eqx.filter_jit(run)(keys[index])
        own = jax.tree.map(lambda x: x[index] if eqx.is_array(x) else x, together)  # noqa: B023
        assert jax.tree.structure(own) == jax.tree.structure(alone)
        arrays = lambda tree: eqx.filter(tree, eqx.is_array)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
            arrays(own),
            arrays(alone),
        )


@every_case
def test_empty_slots_of_the_buffer_have_no_influence(name):
    clean, spoilt = memory(), memory(garbage=1e3)
    assert not eqx.tree_equal(clean, spoilt)
    assert eqx.tree_equal(fit(name, init(name)), fit(name, init(name), buffer=spoilt))


@every_case
def test_an_empty_buffer_is_no_trouble(name):
    """So are no transitions at all; nothing that is not finite may enter the state."""
    nothing = jax.tree.map(jnp.zeros_like, memory())
    state, log = fit(name, init(name), buffer=nothing)
    for leaf in jax.tree.leaves(eqx.filter((state, log), eqx.is_inexact_array)):
        assert jnp.isfinite(leaf).all()


@every_case
def test_saved_loaded_and_continued_is_bit_identical(name, tmp_path):
    state = fitted(name)
    checkpoint.save(tmp_path / "state.npz", state, {})
    restored, _ = checkpoint.load(tmp_path / "state.npz", init(name, 7))
    assert eqx.tree_equal(restored, state)
    assert eqx.tree_equal(fit(name, restored, 2), fit(name, state, 2))
