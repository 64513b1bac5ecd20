import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.dynamics.features import OneHot, Polynomial
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics
from tests.helpers.transitions import fit_all, one_hot_steps, rows, smooth_steps

BOX, TWO = BoxActions((-1.0,), (1.0,), (1,)), DiscreteActions(2)


def one_hot_knr(ridge):
    return KNRDynamics(OneHot(), ridge=ridge, noise=0.1, scaled=False)


def test_one_hot_mean_tends_to_the_tabular_estimate():
    steps = one_hot_steps()
    tabular = fit_all(TabularDynamics(), TWO, steps).model
    errors = []
    for ridge in (1.0, 1e-2, 1e-4):
        model = fit_all(one_hot_knr(ridge), TWO, steps).model
        mean = jax.vmap(model.mean)(steps.state, steps.action)
        errors.append(np.abs(mean - jax.vmap(tabular.mean)(steps.state, steps.action)).max())
    assert errors[0] > 0.05
    assert errors[0] > 50 * errors[1] > 1000 * errors[2]
    assert errors[-1] < 1e-4


@pytest.mark.parametrize("ridge", [0.5, 2.0])
def test_one_hot_novelty_is_the_root_of_one_over_count_plus_ridge(ridge):
    steps = one_hot_steps(states=4)
    model = fit_all(one_hot_knr(ridge), TWO, steps).model
    for state in range(4):
        for action in range(2):
            count = ((steps.state.argmax(1) == state) & (steps.action == action)).sum()
            novelty = model.novelty(jnp.eye(4)[state], jnp.array(action))
            assert novelty == pytest.approx((count + ridge) ** -0.5, rel=1e-5)


def test_beta_by_hand():
    steps = smooth_steps()
    spec = KNRDynamics(Polynomial(1), ridge=0.5, noise=0.2, weight_bound=3.0, delta=0.05)
    state = fit_all(spec, BOX, rows(steps, slice(0, 20)), rows(steps, slice(20, 40)))
    asked = zip(steps.state, steps.action, strict=True)
    phi = np.stack([state.model.features(state.model.scales.input(*x)) for x in asked])
    sigma = 0.5 * np.eye(4) + phi.T @ phi
    gained = np.linalg.slogdet(sigma / 0.5)[1]
    terms = 2 * np.log(5) + 2 * np.log(2**2 / 0.05) + np.log(4) + gained
    beta = np.sqrt(2 * 0.5 * 3.0**2 + 8 * 0.2**2 * terms)
    assert state.model.beta == pytest.approx(beta, rel=1e-4)
    novelty = np.sqrt(phi[0] @ np.linalg.solve(sigma, phi[0]))
    uncertainty = state.model.uncertainty(steps.state[0], steps.action[0])
    assert uncertainty == pytest.approx(beta / 0.2 * novelty, rel=1e-4)


def test_portions_and_the_whole_agree():
    """But for the scales, which the first portion sets, and t."""
    steps = smooth_steps()
    spec = KNRDynamics(Polynomial(2), scaled=False)
    whole = fit_all(spec, BOX, steps).model
    parts = fit_all(spec, BOX, *(rows(steps, slice(i, i + 10)) for i in range(0, 40, 10))).model
    mean = lambda model: jax.vmap(model.mean)(steps.state, steps.action)
    np.testing.assert_allclose(mean(whole), mean(parts), rtol=1e-3, atol=1e-4)
    assert parts.beta > whole.beta


def test_known_dynamics_are_found_and_scales_are_those_of_the_first_portion():
    rng = np.random.default_rng(0)
    steps = smooth_steps(400)
    matrix = np.array([[0.9, 0.2], [-0.1, 0.8]], np.float32)
    exact = steps._replace(next_state=100 * (steps.state @ matrix.T + 0.3 * steps.action))
    steps = exact._replace(state=100 * exact.state)
    spec = KNRDynamics(Polynomial(1), ridge=1e-4)
    model = fit_all(spec, BOX, rows(steps, slice(0, 50)), rows(steps, slice(50, 400))).model
    assert model.scales.inputs.scale[0] == pytest.approx(steps.state[:50, 0].std(), rel=1e-4)
    state, action = 100 * rng.normal(size=2).astype(np.float32), np.array([0.5], np.float32)
    expected = matrix @ state + 30 * action
    np.testing.assert_allclose(model.mean(state, action), expected, rtol=1e-3, atol=0.05)


def test_samples_have_the_stated_noise():
    steps = smooth_steps()
    model = fit_all(KNRDynamics(Polynomial(1), noise=0.3), BOX, steps).model
    draw = eqx.filter_jit(jax.vmap(lambda k: model.sample(steps.state[0], steps.action[0], key=k)))
    drawn = draw(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(drawn.std(0), 0.3 * model.scales.outputs.scale, rtol=0.06)


def test_one_hot_states_cannot_be_scaled():
    with pytest.raises(ValueError, match="scaled=false"):
        KNRDynamics(OneHot())
