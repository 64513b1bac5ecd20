"""What `ilfo.discriminators.base` promises, for every implementation: add a line to `CASES`."""

from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.types import Rollout
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.constant import ConstantCost
from ilfo.discriminators.occupancy import by_age, recorded
from ilfo.storage import checkpoint
from tests.helpers.agents import as_steps, plain_mmd

DIM, HORIZON, STREAMS = 3, 8, 4


def first_two(state):
    return state[:2]


class Case(NamedTuple):
    spec: AbstractDiscriminator
    lowest: float = -1.0
    highest: float = 1.0
    """The range of the cost."""
    feature_map: object = None
    absorbing: bool = True
    """Whether time after termination counts."""


CASES = {
    "state-ball": Case(plain_mmd(16)),
    "pair-penalised": Case(plain_mmd(16, input="pair", form="penalised", zeta=0.1, step=0.5)),
    "state-penalised-never-positive": Case(
        plain_mmd(16, form="penalised", clip_max=0.0), highest=0.0
    ),
    "pair-ball-feature-map": Case(
        plain_mmd(16, input="pair", zeta=5.0, clip_min=-0.3), lowest=-0.3, feature_map=first_two
    ),
    "change-whitened": Case(plain_mmd(16, input="change", ridge=0.5, step=0.5)),
    "state-whitened-feature-map": Case(plain_mmd(16, ridge=2.0), feature_map=first_two),
    "endings-free": Case(plain_mmd(16, absorbing=False, step=0.5), absorbing=False),
    "constant": Case(ConstantCost(plain_mmd(16)), highest=0.0),
    "constant-pair-feature-map": Case(
        ConstantCost(plain_mmd(16, input="pair")), highest=0.0, feature_map=first_two
    ),
}

every_case = pytest.mark.parametrize("name", CASES)
# few, where it takes long and options make no difference
some_cases = pytest.mark.parametrize("name", ["state-ball", "pair-ball-feature-map", "constant"])


# Compiled once per case: a spec is static.
_init = eqx.filter_jit(lambda spec, sample, h, key: spec.init(sample, h, key=key))
_fit = eqx.filter_jit(lambda spec, state, *means: spec.fit(state, *means))


@cache
def demonstrated_steps(width: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 2, width)).astype(np.float32)


@cache
def init(name, seed=0):
    case = CASES[name]
    sample = demonstrated_steps(DIM if case.feature_map is None else 2)
    return _init(case.spec, as_steps(sample), case.feature_map, jax.random.key(seed))


@cache
def learner() -> Rollout:
    """Two streams end, one in each way; the others are truncated. Far from where the expert was."""
    rng = np.random.default_rng(1)
    shape = (STREAMS, HORIZON)
    states = rng.normal(loc=1.5, size=(STREAMS, HORIZON + 1, DIM)).astype(np.float32)
    terminal, runaway, cut = np.zeros((3, *shape), bool)
    terminal[0, 3] = runaway[1, 5] = cut[2:, -1] = True
    valid = np.ones(shape, bool)
    valid[0, 4:] = valid[1, 6:] = False
    elapsed = np.broadcast_to(np.arange(HORIZON, dtype=np.int32), shape)
    columns = (states[:, :-1], None, states[:, 1:], terminal, runaway, cut, valid, elapsed)
    return Rollout(*(None if x is None else jnp.asarray(x) for x in columns))


def everything(spec, state, rollout, expert_mean):
    """All that MobILE asks of a discriminator in an iteration, and the fitted one."""
    psi = jax.vmap(jax.vmap(state.features))(rollout.state, rollout.next_state)
    total, time = spec.total_features(psi, rollout, by_age(rollout))
    fitted = spec.fit(state, total / time, expert_mean)
    return {
        "distance": fitted.distance(total / time, expert_mean),
        "psi": psi,
        "f": fitted(psi),
        "cost": spec.cost(fitted, psi),
        "ending_costs": spec.ending_costs(fitted),
        "total": total,
        "time": time,
    }, fitted


ask = eqx.filter_jit(everything)


def expert_mean(name, seed=0):
    state = init(name, seed)
    steps = demonstrated_steps(DIM if CASES[name].feature_map is None else 2)
    return jax.vmap(state.demonstrated)(steps[:, 0], steps[:, 1]).mean(0)


@cache
def asked(name, seed=0):
    return ask(CASES[name].spec, init(name, seed), learner(), expert_mean(name, seed))


def assert_close(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        if eqx.is_array(a):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        else:
            assert a == b


# What kind of thing everything is


@every_case
def test_shapes_and_types(name):
    found, _ = asked(name)
    size = found["psi"].shape[-1]
    shapes = {key: jax.tree.map(jnp.shape, value) for key, value in found.items()}
    assert shapes == {
        "psi": (STREAMS, HORIZON, size),
        "f": (STREAMS, HORIZON),
        "cost": (STREAMS, HORIZON),
        "ending_costs": ((), ()),
        "total": (size,),
        "time": (),
        "distance": (),
    }
    for value in jax.tree.leaves(found):
        assert value.dtype == jnp.float32
        assert jnp.isfinite(value).all()


@every_case
def test_a_spec_is_static(name):
    """It may be a part of what a compiled function is known by."""
    spec = CASES[name].spec
    assert not jax.tree.leaves(eqx.filter(spec, eqx.is_array))
    again = jax.tree.unflatten(jax.tree.structure(spec), jax.tree.leaves(spec))
    assert again is not spec
    assert again == spec
    assert hash(again) == hash(spec)


@every_case
def test_a_fit_keeps_every_shape_and_type(name):
    """Otherwise the next iteration would be compiled anew."""
    before, (_, after) = init(name), asked(name)
    avals = lambda tree: jax.tree.map(jax.typeof, eqx.filter(tree, eqx.is_array))
    assert avals(before) == avals(after)
    # a checkpoint restores no weak type, so a run that went on from one would compile twice
    assert not any(aval.weak_type for aval in jax.tree.leaves(avals(before)))
    static = lambda tree: eqx.filter(tree, eqx.is_array, inverse=True)
    assert eqx.tree_equal(static(before), static(after))


# Transformations and randomness


@some_cases
def test_jit_equals_no_jit(name):
    given = (init(name), learner(), expert_mean(name))
    assert_close(asked(name), everything(CASES[name].spec, *given))


@every_case
def test_vmap_equals_loop(name):
    state, rollout = asked(name)[1], learner()
    one = eqx.filter_jit(lambda state, s, t: state.features(s, t))
    for stream, step in [(0, 0), (3, 7), (1, 2)]:
        alone = one(state, rollout.state[stream, step], rollout.next_state[stream, step])
        np.testing.assert_allclose(alone, asked(name)[0]["psi"][stream, step], rtol=1e-4, atol=1e-5)


@some_cases
def test_seeds_side_by_side_equal_single_ones(name):
    case, seeds = CASES[name], (0, 3)
    sample = as_steps(demonstrated_steps(DIM if case.feature_map is None else 2))
    keys = jnp.stack([jax.random.key(seed) for seed in seeds])
    states = eqx.filter_vmap(lambda key: _init(case.spec, sample, case.feature_map, key))(keys)
    means = jnp.stack([expert_mean(name, seed) for seed in seeds])
    together = eqx.filter_vmap(lambda state, mean: ask(case.spec, state, learner(), mean))
    found, _ = together(states, means)
    for index, seed in enumerate(seeds):
        assert_close(jax.tree.map(lambda x: x[index], found), asked(name, seed)[0])  # noqa: B023


@every_case
def test_same_key_same_bits(name):
    assert eqx.tree_equal(init(name), init.__wrapped__(name))
    assert eqx.tree_equal(asked(name), asked.__wrapped__(name))


@every_case
def test_another_key_other_features(name):
    assert not np.isclose(asked(name, 0)[0]["psi"], asked(name, 1)[0]["psi"]).all()


# Features


@every_case
def test_a_learners_step_looks_like_the_demonstration_of_it(name):
    state, rollout = init(name), learner()
    h = CASES[name].feature_map or (lambda s: s)
    see = jax.vmap(jax.vmap(lambda s, t: state.demonstrated(h(s), h(t))))
    found = see(rollout.state, rollout.next_state)
    np.testing.assert_allclose(found, asked(name)[0]["psi"], rtol=1e-5, atol=1e-6)


@every_case
def test_the_state_reached_matters(name):
    state, rollout = init(name), learner()
    moved = jax.vmap(state.features)(rollout.state[0], rollout.next_state[0] + 0.5)
    assert not np.isclose(moved, asked(name)[0]["psi"][0]).all()


@every_case
def test_features_do_not_change_with_a_fit(name):
    """Means over demonstrations are taken once, before any fit."""
    rollout, (found, fitted) = learner(), asked(name)
    after = jax.vmap(jax.vmap(fitted.features))(rollout.state, rollout.next_state)
    np.testing.assert_allclose(after, found["psi"], rtol=1e-5, atol=1e-6)


@every_case
def test_the_time_after_termination_is_orthogonal_to_every_step(name):
    spec, rollout, psi = CASES[name].spec, learner(), asked(name)[0]["psi"]
    total = lambda **flags: spec.total_features(
        psi, rollout._replace(**flags), recorded(rollout, HORIZON)
    )
    never = jnp.zeros((STREAMS, HORIZON), bool)
    plain, plain_time = total(terminal=never, runaway=never)
    after, times = [], []
    for kind in ("terminal", "runaway"):
        flags = {"terminal": never, "runaway": never} | {kind: getattr(rollout, kind)}
        ended, time = total(**flags)
        after.append(np.asarray(ended - plain))
        times.append(float(time - plain_time))
    if not CASES[name].absorbing:
        np.testing.assert_array_equal(after, 0)
        assert times == [0, 0]
        return
    assert times == [4, 2]  # of eight ages, after four and six steps
    for direction, time in zip(after, times, strict=True):
        assert np.linalg.norm(direction) == pytest.approx(time, rel=1e-5)
        np.testing.assert_allclose(psi @ direction, 0, atol=1e-6)
    assert after[0] @ after[1] == pytest.approx(0, abs=1e-6)


@every_case
def test_weights_count_and_nothing_else(name):
    """Alike steps have themselves as their mean; what is not valid has no part in it."""
    spec, rollout = CASES[name].spec, learner()
    never = jnp.zeros((STREAMS, HORIZON), bool)
    rollout = rollout._replace(terminal=never, runaway=never)
    same = asked(name)[0]["psi"][0, 0]
    psi = jnp.where(rollout.valid[..., None], same, 1e3)
    for occupancy in (by_age(rollout), recorded(rollout, HORIZON)):
        total, time = spec.total_features(psi, rollout, occupancy)
        np.testing.assert_allclose(total / time, same, rtol=1e-4, atol=1e-6)
        assert time == pytest.approx(float(occupancy.step.sum()), rel=1e-5)


# Costs


@every_case
@pytest.mark.parametrize("size", [1.0, 1e3, 1e30])
def test_the_cost_stays_within_its_range(name, size):
    case, (_, fitted) = CASES[name], asked(name)
    psi = size * jax.random.normal(jax.random.key(0), asked(name)[0]["psi"].shape)
    cost = np.asarray(case.spec.cost(fitted, psi))
    assert cost.min() >= np.float32(case.lowest)
    assert cost.max() <= np.float32(case.highest)
    for ending in case.spec.ending_costs(fitted):
        assert case.lowest <= ending <= case.highest


@every_case
def test_a_fit_tells_the_two_means_apart(name):
    found, fitted = asked(name)
    policy, expert = found["total"] / found["time"], expert_mean(name)
    assert fitted(policy) > fitted(expert)
    assert not eqx.tree_equal(fitted, init(name))


@every_case
def test_equal_means_give_a_cost_without_nan(name):
    spec, psi = CASES[name].spec, asked(name)[0]["psi"]
    fitted = _fit(spec, init(name), expert_mean(name), expert_mean(name))
    assert fitted(expert_mean(name)) == pytest.approx(0, abs=1e-6)
    for cost in (spec.cost(fitted, psi), *spec.ending_costs(fitted)):
        assert jnp.isfinite(cost).all()


@some_cases
def test_saved_loaded_and_continued_is_bit_identical(name, tmp_path):
    spec, (found, fitted) = CASES[name].spec, asked(name)
    checkpoint.save(tmp_path / "state.npz", fitted, {})
    restored, _ = checkpoint.load(tmp_path / "state.npz", init(name, 7))
    assert eqx.tree_equal(restored, fitted)
    means = (found["total"] / found["time"] / 2, expert_mean(name))
    assert eqx.tree_equal(_fit(spec, restored, *means), _fit(spec, fitted, *means))
