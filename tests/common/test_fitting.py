"""The shared regression: what it fits, on which rows, and when it stops."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import SGD, Adam, Dataset, Passes, fit, shuffled_valid
from ilfo.common.types import Normaliser


class Linear(eqx.Module):
    weight: jax.Array
    name: str = "a leaf that is no array"

    def __call__(self, x):
        return x @ self.weight


class Rows(NamedTuple):
    x: jax.Array
    y: jax.Array
    number: jax.Array


def squared_error(model: Linear, rows: Rows, weight: jax.Array) -> jax.Array:
    error = jax.vmap(model)(rows.x) - rows.y
    return (weight * error**2).sum() / jnp.maximum(weight.sum(), 1.0)


def linear_rows(count: int, weight: list[float], noise: float = 0.0) -> Rows:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(count, len(weight)))
    y = x @ np.array(weight) + noise * generator.normal(size=count)
    as_float = lambda array: jnp.asarray(array, jnp.float32)
    return Rows(as_float(x), as_float(y), jnp.arange(count))


def run(data: Rows, plan: Passes, *, valid=None, optimiser=None, loss=squared_error, seed=0):
    valid = jnp.ones(len(data.y), bool) if valid is None else valid
    return train(data, valid, plan, optimiser or Adam(0.05), loss, jax.random.key(seed))


@eqx.filter_jit
def train(data, valid, plan, optimiser, loss, key) -> tuple[Linear, Any, jax.Array]:
    model = Linear(jnp.zeros(data.x.shape[1]))
    transform = optimiser.build()
    first = transform.init(eqx.filter(model, eqx.is_inexact_array))
    return fit(loss, model, first, transform, Dataset(data, valid), plan, key=key)


class Spy:
    """A loss that notes which rows it was asked about and what it answered.

    Judging is told from training by the number of rows, which the plan must make different.
    """

    def __init__(self, judged: int):
        self._judged = judged
        self.trained_on: list[set[int]] = []
        self.judgements: list[tuple[set[int], float]] = []

    def __call__(self, model, rows, weight):
        value = squared_error(model, rows, weight)
        jax.debug.callback(self._note, rows.number, weight, value, ordered=True)
        return value

    def _note(self, number, weight, value) -> None:
        counted = set(np.asarray(number)[np.asarray(weight) > 0].tolist())
        if len(weight) == self._judged:
            self.judgements.append((counted, float(value)))
        else:
            self.trained_on.append(counted)


@pytest.mark.parametrize("optimiser", [Adam(0.05), SGD(0.01, 0.9)], ids=["adam", "sgd"])
def test_a_linear_map_is_found(optimiser) -> None:
    data = linear_rows(64, [1, 2, 3])
    model, _, loss = run(data, Passes(passes=40, batch_size=16), optimiser=optimiser)
    np.testing.assert_allclose(model.weight, [1, 2, 3], atol=0.02)
    assert model.name == "a leaf that is no array"
    assert loss < 1e-3


def test_one_step_by_hand() -> None:
    """y = 2x at x = 1 and 3 from weight 0: the gradient is mean(-2 y x) = -(4 + 36)/2 = -20."""
    data = Rows(jnp.array([[1.0], [3.0]]), jnp.array([2.0, 6.0]), jnp.arange(2))
    plan = Passes(passes=1, batch_size=256)
    model, _, loss = run(data, plan, optimiser=SGD(0.01, 0.0))
    np.testing.assert_allclose(model.weight, [0.2], rtol=1e-6)
    assert loss == pytest.approx((4 + 36) / 2)  # before the step


def test_same_key_same_bits_and_no_other_rows_than_valid_ones() -> None:
    data = linear_rows(48, [1, 2, 3])
    valid = jnp.arange(48) % 3 == 0
    spoilt = Rows(
        jnp.where(valid[:, None], data.x, 7.0), jnp.where(valid, data.y, -1e3), data.number
    )
    plan = Passes(passes=60, batch_size=16)
    model, _, loss = run(data, plan, valid=valid)
    other, _, other_loss = run(spoilt, plan, valid=valid)
    np.testing.assert_array_equal(other.weight, model.weight)
    assert other_loss == loss
    np.testing.assert_allclose(other.weight, [1, 2, 3], atol=0.02)
    elsewhere, _, _ = run(data, plan, valid=valid, seed=1)
    assert (elsewhere.weight != model.weight).any()


def test_every_valid_row_is_used_in_a_pass() -> None:
    spy = Spy(judged=0)
    valid = jnp.arange(24) < 13
    run(linear_rows(24, [1, 2]), Passes(passes=1, batch_size=8), valid=valid, loss=spy)
    jax.effects_barrier()
    assert len(spy.trained_on) == 3
    assert set.union(*spy.trained_on) == set(range(13))


# 40 rows for 30 weights: the noise of the training rows can be learned by heart
OVERFITTED = linear_rows(40, 30 * [1.0], noise=5.0)
PATIENT = Passes(passes=60, batch_size=10, held_out=0.3, patience=4)  # 12 rows aside


def test_early_stop_keeps_the_best_pass_and_stops() -> None:
    spy = Spy(judged=12)
    model, optimiser, loss = run(OVERFITTED, PATIENT, loss=spy)
    jax.effects_barrier()
    values = [value for _, value in spy.judgements]
    aside = spy.judgements[0][0]
    assert len(aside) == 12
    assert all(rows == aside for rows, _ in spy.judgements)
    assert not aside & set.union(*spy.trained_on)  # nothing is judged by what it was trained on

    batches = 40 // 10
    best = int(np.argmin(values))
    assert 2 < best < 40
    assert len(spy.trained_on) == batches * (best + 1 + PATIENT.patience)
    assert loss == pytest.approx(min(values))
    rows = np.array(sorted(aside))
    error = np.asarray(OVERFITTED.x @ model.weight - OVERFITTED.y)[rows]
    assert (error**2).mean() == pytest.approx(min(values), rel=1e-4)
    assert optimiser[0].count == batches * (best + 1)  # the optimiser goes back as well


def test_without_patience_the_last_pass_stands() -> None:
    spy = Spy(judged=12)
    plan = Passes(passes=60, batch_size=10, held_out=0.3)
    model, optimiser, loss = run(OVERFITTED, plan, loss=spy)
    jax.effects_barrier()
    rows = np.array(sorted(spy.judgements[0][0]))
    error = np.asarray(OVERFITTED.x @ model.weight - OVERFITTED.y)[rows]
    assert loss == pytest.approx((error**2).mean(), rel=1e-4)
    assert loss > 1.05 * min(value for _, value in spy.judgements)
    assert optimiser[0].count == 60 * 4


def test_averaged_it_is_the_mean_over_the_passes_of_the_second_half() -> None:
    """One row per pass, so that a pass is a step: w ← w - 2·rate·(w - 1)."""
    data = Rows(jnp.ones((1, 1)), jnp.ones(1), jnp.arange(1))
    model, _, _ = run(data, Passes(5, 1, averaged=True), optimiser=SGD(0.1, momentum=0.0))
    after = [1 - 0.8**step for step in range(1, 6)]
    np.testing.assert_allclose(model.weight, [np.mean(after[2:])], rtol=1e-5)


def test_averaged_weights_hold_less_of_the_minibatches_noise() -> None:
    data = linear_rows(256, [1.0, -2.0], noise=1.0)
    best = np.linalg.lstsq(np.asarray(data.x), np.asarray(data.y), rcond=None)[0]

    def miss(averaged: bool) -> float:
        plan = Passes(20, 8, averaged=averaged)
        fits = [run(data, plan, seed=seed)[0].weight for seed in range(10)]
        return float(np.mean([np.linalg.norm(weight - best) for weight in fits]))

    assert miss(averaged=True) < 0.5 * miss(averaged=False)


def test_averaging_and_judging_passes_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="averaged returns a mean over passes"):
        Passes(held_out=0.1, averaged=True)


def test_few_rows_still_leave_one_to_judge_by() -> None:
    """A tenth of five rows is none: a loss over no rows is 0, and would stop at the first pass."""
    plan = Passes(passes=200, batch_size=8, held_out=0.1, patience=20)
    data = linear_rows(40, [1, 2])
    model, _, loss = run(data, plan, valid=jnp.arange(40) < 5)
    assert loss < 0.01
    np.testing.assert_allclose(model.weight, [1, 2], atol=0.1)


def test_patience_needs_rows_to_judge_by() -> None:
    with pytest.raises(ValueError, match=r"patience=3 .*held_out=0\.0; set held_out"):
        Passes(patience=3)


class Scaled(eqx.Module):
    weight: jax.Array
    normaliser: Normaliser

    def __call__(self, x):
        return jax.lax.stop_gradient(self.normaliser)(x) @ self.weight


def test_regularisation_shrinks_weights_and_leaves_normalisers_alone() -> None:
    """Targets of zero have no gradient at weight zero: the second weight, whose input is always
    zero, moves by its decay alone; Adam's first step has the learning rate's length."""
    scales = Normaliser(jnp.array([2.0, 0.0]), jnp.array([4.0, 3.0]))
    data = Rows(jnp.array([[6.0, 0.0]]), jnp.array([0.0]), jnp.arange(1))
    for regularisation, second in ((0.0, 1.0), (0.5, 0.9)):
        model = Scaled(jnp.array([0.0, 1.0]), scales)
        transform = Adam(0.1, regularisation=regularisation).build()
        first = transform.init(eqx.filter(model, eqx.is_inexact_array))
        fitted, _, _ = fit(
            squared_error,
            model,
            first,
            transform,
            Dataset(data, jnp.ones(1, bool)),
            Passes(passes=1),
            key=jax.random.key(0),
        )
        np.testing.assert_allclose(fitted.weight, [0.0, second], rtol=1e-5)
        np.testing.assert_array_equal(fitted.normaliser.shift, scales.shift)
        np.testing.assert_array_equal(fitted.normaliser.scale, scales.scale)


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0])
def test_held_out_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match=rf"held_out is {share}, but must lie in \[0, 1\)"):
        Passes(held_out=share)


def test_shuffled_valid_is_a_permutation_with_the_valid_first() -> None:
    valid = jnp.arange(100) % 3 == 1
    shuffle = jax.jit(shuffled_valid)
    orders = np.stack([shuffle(valid, key=jax.random.key(seed)) for seed in range(200)])
    assert (np.sort(orders, -1) == np.arange(100)).all()
    count = int(valid.sum())
    assert np.asarray(valid)[orders[:, :count]].all()
    # 200 draws of a number that is uniform over 33: deviation 9.5/√200 = 0.67 of the mean place
    place = np.argmax(orders == 1, -1)
    assert abs(place.mean() - (count - 1) / 2) < 4 * 0.67
    np.testing.assert_array_equal(orders[5], shuffle(valid, key=jax.random.key(5)))
