"""What `ilfo.dynamics.base` promises, for every implementation: add a line to `CASES`."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Adam, Passes
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Transition
from ilfo.dynamics.base import Calibrated, CalibratedDynamics
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.features import OneHot, Polynomial, RandomFourier
from ilfo.dynamics.finite import FiniteDynamics
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics
from ilfo.storage import checkpoint

DIM, ROWS, CAPACITY = 3, 20, 32
BOX = BoxActions((-1.0, -2.0, 0.0), (1.0, 3.0, 1.0), (3,))
DISCRETE = DiscreteActions(3)

SMALL = {"width": 8, "depth": 1}
PLAN = Passes(passes=2, batch_size=8)
STOPPED = Passes(passes=4, batch_size=8, held_out=0.25, patience=1)
FOURIER = RandomFourier(count=6)


def turned(parameters, state, action):
    """A member of a small class: scaled states, moved by the action."""
    return parameters[0] * state + parameters[1] * action[0]


CLASS = ((0.9, 0.0), (0.5, 0.1), (-0.9, 0.0), (0.8, -0.1))
# Every option once; a fit takes seconds to compile.
CASES = {
    "sgd": (EnsembleDynamics(plan=PLAN, **SMALL), BOX),
    "adam-early-stopped": (EnsembleDynamics(optimiser=Adam(), plan=STOPPED, **SMALL), DISCRETE),
    "three-members-stochastic": (
        EnsembleDynamics(members=3, stochastic=True, plan=PLAN, **SMALL),
        BOX,
    ),
    "one-member-from-scratch": (
        EnsembleDynamics(members=1, warm_start=False, plan=PLAN, **SMALL),
        DISCRETE,
    ),
    "knr-fourier": (KNRDynamics(FOURIER), BOX),
    "knr-polynomial-own-beta": (KNRDynamics(Polynomial(2), beta=1.0), DISCRETE),
    "knr-one-hot": (KNRDynamics(OneHot(), scaled=False), DISCRETE),
    "gp-exact-fourier": (GPDynamics(FOURIER, capacity=ROWS), BOX),
    "gp-fourier-by-features": (GPDynamics(FOURIER, capacity=ROWS - 1), DISCRETE),
    "gp-linear-unscaled": (GPDynamics(Polynomial(1), capacity=30, scaled=False), BOX),
    "tabular": (TabularDynamics(), DISCRETE),
    "tabular-weissman": (TabularDynamics(form="weissman"), DISCRETE),
    "finite": (FiniteDynamics(turned, CLASS), BOX),
    "finite-paper": (FiniteDynamics(turned, CLASS, radius="paper", largest=3.0), DISCRETE),
}
CALIBRATED = [name for name in CASES if name.startswith(("knr", "gp", "tabular", "finite"))]
DRAWN_AT_FIRST = [name for name in CASES if "fourier" in name]
"""Nothing but their features is random: a fit has one answer."""
LEARNED_BY_CHANCE = [name for name in CASES if name not in CALIBRATED]

every_case = pytest.mark.parametrize("name", CASES)


def draw_actions(actions, count, rng):
    if isinstance(actions, DiscreteActions):
        return rng.integers(actions.count, size=count, dtype=np.int32)
    return rng.uniform(-1, 1, (count, actions.encoded_dim)).astype(np.float32)


def transitions(actions, count=ROWS, seed=0) -> Transition:
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(count, DIM)).astype(np.float32)
    moved = 0.9 * state + 0.1 * rng.normal(size=state.shape).astype(np.float32)
    return Transition(state, draw_actions(actions, count, rng), moved, np.arange(count) % 7 == 6)


@cache
def data(actions) -> tuple[Transition, Buffer]:
    new = transitions(actions)
    one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), new)
    push = eqx.filter_jit(lambda buffer: buffer.push(new, jnp.arange(ROWS) % 7 == 0))
    return new, push(Buffer.empty(one, CAPACITY, 4, 4))


# Compiled once per case: a spec is static.
_fit = eqx.filter_jit(lambda spec, state, new, buffer, key: spec.fit(state, new, buffer, key=key))


@cache
def init(name, seed=0):
    spec, actions = CASES[name]
    return spec.init(DIM, actions, key=jax.random.key(seed))


def fit(name, state, seed=1):
    spec, actions = CASES[name]
    return _fit(spec, state, *data(actions), jax.random.key(seed))


@cache
def fitted(name):
    return fit(name, init(name))[0]


def answers(model, state, action, key):
    """Everything a model can be asked about one step."""
    return (
        model.sample(state, action, key=key),
        model.mean(state, action),
        model.uncertainty(state, action),
    )


one_answer = eqx.filter_jit(answers)
all_answers = eqx.filter_jit(eqx.filter_vmap(answers, in_axes=(None, 0, 0, 0)))


@cache
def questions(actions, count=20):
    steps = transitions(actions, count, seed=5)
    return steps.state, steps.action, jax.random.split(jax.random.key(3), count)


def question(actions, index=0):
    return [x[index] for x in questions(actions)]


def assert_close(left, right, rtol=1e-4):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        if eqx.is_inexact_array(a):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5)
        else:
            assert np.array_equal(a, b) if eqx.is_array(a) else a == b


@every_case
def test_shapes_and_types(name):
    reached, mean, uncertainty = one_answer(fitted(name).model, *question(CASES[name][1]))
    assert (reached.shape, mean.shape, uncertainty.shape) == ((DIM,), (DIM,), ())
    assert {x.dtype for x in (reached, mean, uncertainty)} == {jnp.dtype("float32")}
    _, log = fit(name, init(name))
    assert log["model_loss"].shape == ()
    assert all(jnp.isfinite(value).all() for value in log.values())


@every_case
def test_uncertainty_is_a_finite_number_of_at_least_zero(name):
    state, *rest = questions(CASES[name][1])
    for model in (init(name).model, fitted(name).model):
        uncertainty = np.asarray(all_answers(model, 100 * state, *rest)[-1])
        assert np.isfinite(uncertainty).all()
        assert (uncertainty >= 0).all()


@eqx.filter_jit
def answers_of_members(model, *asked):
    """Of every member as a model of its own, all at once: (members, questions, …)."""
    ask = lambda index: eqx.filter_vmap(answers, in_axes=(None, 0, 0, 0))(
        model.member(index), *asked
    )
    return jax.vmap(ask)(jnp.arange(model.members))


@every_case
def test_members_are_models_of_which_the_whole_is_made(name):
    model, asked = fitted(name).model, questions(CASES[name][1])
    reached, mean, _ = answers_of_members(model, *asked)
    assert reached.shape == mean.shape == (model.members, 20, DIM)
    np.testing.assert_allclose(mean.mean(0), all_answers(model, *asked)[1], rtol=1e-4, atol=1e-5)
    if model.members == 1:
        assert_close(reached[0], all_answers(model, *asked)[0])
    else:
        assert not np.isclose(mean[0], mean[1]).all()


@every_case
def test_a_member_of_a_member_is_itself(name):
    model = fitted(name).model
    one = model.member(jnp.array(model.members - 1))
    assert one.members == 1
    assert eqx.tree_equal(one.member(jnp.array(0)), one)


@every_case
def test_jit_equals_no_jit(name):
    model, asked = fitted(name).model, question(CASES[name][1])
    assert_close(one_answer(model, *asked), answers(model, *asked))


@every_case
def test_vmap_equals_loop(name):
    model, actions = fitted(name).model, CASES[name][1]
    together = all_answers(model, *questions(actions))
    # the variance of an exact Gaussian process is a difference of large numbers, whose rounding
    # depends on the order of sums; on some processors 1.2e-4 of its root is left
    rtol = 1e-3 if name == "gp-linear-unscaled" else 1e-4
    for i in range(5):
        alone = one_answer(model, *question(actions, i))
        assert_close([x[i] for x in together], list(alone), rtol)


@every_case
def test_same_key_same_bits(name):
    assert eqx.tree_equal(init(name), init.__wrapped__(name))
    assert eqx.tree_equal(fit(name, init(name)), fit(name, init(name)))
    model, asked = fitted(name).model, questions(CASES[name][1])
    assert eqx.tree_equal(all_answers(model, *asked), all_answers(model, *asked))


@pytest.mark.parametrize("name", [*LEARNED_BY_CHANCE, *DRAWN_AT_FIRST])
def test_another_key_another_beginning(name):
    assert not eqx.tree_equal(init(name, 0).model, init(name, 1).model)


@pytest.mark.parametrize("name", LEARNED_BY_CHANCE)
def test_another_key_another_fit(name):
    assert not eqx.tree_equal(fit(name, init(name), 1)[0].model, fit(name, init(name), 2)[0].model)


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_calibrated_model_is_one_by_type_and_no_width_exceeds_two(name):
    state, action, _ = questions(CASES[name][1])
    for model in (init(name).model, fitted(name).model):
        assert isinstance(model, Calibrated)
        assert isinstance(CASES[name][0], CalibratedDynamics)
        width = jax.vmap(model.width)(100 * state, action)
        np.testing.assert_array_equal(
            width, jnp.minimum(jax.vmap(model.uncertainty)(100 * state, action), 2)
        )


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_calibrated_fit_uses_the_new_transitions_only(name):
    """Its cost cannot grow with what came before."""
    spec, actions = CASES[name]
    new, buffer = data(actions)
    forgotten = jax.tree.map(jnp.zeros_like, buffer)
    again = _fit(spec, init(name), new, forgotten, jax.random.key(1))
    assert eqx.tree_equal(again[0], fitted(name))
    grown = fit(name, fitted(name))[0]
    size = lambda state: sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(state, eqx.is_array)))
    assert size(grown) == size(init(name))


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
def test_saved_loaded_and_continued_is_bit_identical(name, tmp_path):
    state = fitted(name)
    checkpoint.save(tmp_path / "state.npz", state, {})
    restored, _ = checkpoint.load(tmp_path / "state.npz", init(name, 7))
    assert eqx.tree_equal(restored, state)
    assert eqx.tree_equal(fit(name, restored, 2), fit(name, state, 2))
