"""The classifier against density ratios that are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.discriminators.classifier import Classifier, Occupied, largest_singular_value

PLAIN = Classifier(
    regularisation="none", optimiser=Adam(3e-3), plan=Passes(passes=80, batch_size=250)
)
COUNT = 4000
NONE = jnp.zeros(())


def side(mean: float, key: int, absorbed=0.0, weight=None, count=COUNT) -> Occupied:
    """N(mean, 1)."""
    x = mean + jax.random.normal(jax.random.key(key), (count, 1))
    return Occupied(x, jnp.ones(count) if weight is None else weight(x), jnp.asarray(absorbed))


@eqx.filter_jit
def fitted(spec, learner, expert):
    state = spec.init(1, key=jax.random.key(0))
    return spec.fit(state, learner, expert, key=jax.random.key(1))


POINTS = jnp.linspace(-1.5, 1.5, 13)[:, None]


def test_the_optimum_on_two_gaussians_is_the_density_ratio():
    """log N(x; 0.5, 1) / N(x; -0.5, 1) = x."""
    state, log = fitted(PLAIN, side(0.5, 2), side(-0.5, 3))
    np.testing.assert_allclose(jax.vmap(state.fitted)(POINTS), POINTS[:, 0], atol=0.3)
    # Φ(1/2) of either side is told right
    assert log["classifier_accuracy"] == pytest.approx(0.691, abs=0.03)


def test_weights_shift_the_ratio():
    """Weights exp(x) turn the learner's N(-0.5, 1) into N(0.5, 1)."""
    learner = side(-0.5, 2, weight=lambda x: jnp.exp(x[:, 0]))
    state, _ = fitted(PLAIN, learner, side(-0.5, 3))
    np.testing.assert_allclose(jax.vmap(state.fitted)(POINTS), POINTS[:, 0], atol=0.4)
    mirrored, _ = fitted(PLAIN, side(-0.5, 2), side(-0.5, 3, weight=lambda x: jnp.exp(x[:, 0])))
    np.testing.assert_allclose(jax.vmap(mirrored.fitted)(POINTS), -POINTS[:, 0], atol=0.4)


@pytest.mark.parametrize(("learner", "expert"), [(0.6, 0.2), (0.1, 0.5)])
def test_the_absorbing_state_is_told_by_the_time_spent_there(learner, expert):
    state, _ = fitted(PLAIN, side(0.0, 2, learner), side(0.0, 3, expert))
    expected = np.log(learner / expert)
    np.testing.assert_allclose(state.fitted.absorbed(), expected, atol=0.25)
    np.testing.assert_allclose(PLAIN.ending_cost(state), expected, atol=0.25)
    alive = np.log((1 - learner) / (1 - expert))
    np.testing.assert_allclose(jax.vmap(state.fitted)(POINTS), alive, atol=0.3)


def test_endings_that_are_not_counted_cost_nothing():
    spec = Classifier(absorbing=False, plan=Passes(passes=1))
    state, _ = fitted(spec, side(0.0, 2, 0.9), side(0.0, 3, 0.0))
    assert spec.ending_cost(state) == 0


def test_forms_of_the_cost():
    logits = jnp.array([-20.0, -1.0, 0.0, 2.0, 20.0])
    form = lambda **fields: Classifier(**fields)._form(logits, alive=True)
    np.testing.assert_allclose(form(), [-10, -1, 0, 2, 10])
    log_d = np.log(1 / (1 + np.exp(-np.asarray(logits, np.float64))))
    np.testing.assert_allclose(form(cost_form="log"), np.clip(log_d, -10, 10), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(form(cost_form="constant"), -1)
    constant = Classifier(cost_form="constant")
    assert constant._form(jnp.zeros(()), alive=False) == 0


def slopes(state) -> np.ndarray:
    points = jnp.linspace(-3, 3, 200)[:, None]
    return np.abs(jax.vmap(jax.grad(state.fitted))(points))


FAR = (side(4.0, 2), side(-4.0, 3))
"""Sides so far apart that a free classifier would become as steep as it can."""


def test_the_gradient_penalty_keeps_slopes_near_one():
    free, _ = fitted(PLAIN, *FAR)
    held, _ = fitted(eqx.tree_at(lambda s: s.regularisation, PLAIN, "gradient"), *FAR)
    assert slopes(free).max() > 1.5
    assert 0.6 < slopes(held).mean() < 1.4
    assert slopes(held).max() < slopes(free).max()


def test_spectral_normalisation_bounds_slopes_by_one():
    held, _ = fitted(eqx.tree_at(lambda s: s.regularisation, PLAIN, "spectral"), *FAR)
    assert slopes(held).max() <= 1.02
    assert slopes(held).mean() > 0.1


def test_the_largest_singular_value():
    matrix = np.random.default_rng(0).normal(size=(6, 4))
    expected = np.linalg.svd(matrix, compute_uv=False)[0]
    np.testing.assert_allclose(largest_singular_value(jnp.asarray(matrix)), expected, rtol=0.02)


def test_mistakes_are_named():
    for fields in ({"width": 0}, {"penalty": -1.0}, {"clip": 0.0}):
        name = next(iter(fields))
        with pytest.raises(ValueError, match=rf"Classifier\.{name} is"):
            Classifier(**fields)
