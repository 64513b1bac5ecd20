"""The pendulum against its equations, worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.theory.pendulum import (
    COST,
    EXPERT,
    NOISE,
    POLICIES,
    TRUE,
    FittedPendulum,
    Pendulum,
    act,
    functions,
    norm_of_truth,
    spec,
)


@pytest.mark.parametrize(("angle", "speed", "torque"), [(0.3, -0.5, 1.0), (-1.2, 0.7, -0.4)])
def test_a_step_follows_the_equations(angle, speed, torque):
    found = Pendulum().mean(jnp.array([angle, speed]), jnp.array([torque]))
    faster = 0.99 * speed + 0.5 * np.sin(angle) + 0.5 * torque
    np.testing.assert_allclose(found, [angle + 0.1 * speed, faster], rtol=1e-5)


def test_noise_has_its_standard_deviation():
    sample = lambda key: Pendulum().sample(jnp.zeros(2), jnp.zeros(1), key=key)
    drawn = jax.vmap(sample)(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(drawn.std(0), NOISE, rtol=0.05)


def test_features_are_no_longer_than_one():
    assert jnp.linalg.norm(FittedPendulum()(jnp.array([30.0, -9.0, 1.0]))) == pytest.approx(1)


def test_the_expert_keeps_the_pendulum_upright():
    assert POLICIES[EXPERT].tolist() == [2.0, 1.0, 0.0]
    state = jnp.array([0.2, 0.0])
    for _ in range(60):
        state = Pendulum().mean(state, act(jnp.asarray(POLICIES[EXPERT]), state))
    assert jnp.abs(state).max() < 0.01
    assert act(jnp.asarray(POLICIES[EXPERT]), jnp.array([-3.0, 0.0])).tolist() == [1.0]


def test_the_true_cost_is_least_upright_and_at_rest():
    assert functions(jnp.zeros(2))[COST] == 0
    expected = 1 - np.exp(-(0.4**2 + 0.25 * 0.6**2) / 0.5)
    assert functions(jnp.array([0.4, 0.6]))[COST] == pytest.approx(expected, rel=1e-5)


def test_ridge_is_that_of_the_proposition():
    largest = np.sqrt(np.linalg.eigvalsh(TRUE.T @ TRUE).max())
    assert norm_of_truth() == pytest.approx(largest, rel=1e-5)
    assert spec().ridge == pytest.approx((NOISE / largest) ** 2, rel=1e-5)
