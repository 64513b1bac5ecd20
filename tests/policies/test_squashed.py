"""Squashed Gaussians: exact at the edge of the action space, and bounded."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.types import Normaliser
from ilfo.policies.base import Gaussian
from ilfo.policies.host import HostPolicy
from ilfo.policies.squashed import SquashedGaussian, SquashedMLP, log_slope


def test_density_by_hand():
    distribution = SquashedGaussian(jnp.array([0.0]), jnp.array([0.0]))
    u = 0.5
    normal = -0.5 * u**2 - 0.5 * np.log(2 * np.pi)
    expected = normal - np.log(1 - np.tanh(u) ** 2)
    assert distribution.log_prob(jnp.tanh(jnp.array([u]))) == pytest.approx(expected, rel=1e-5)


def test_a_sample_comes_with_its_log_density():
    distribution = SquashedGaussian(jnp.array([0.3, -0.8]), jnp.array([-0.2, 0.1]))
    noise = jax.random.normal(jax.random.key(0), (50, 2))
    actions, log_probs = jax.vmap(distribution.sample_with_log_prob)(noise)
    np.testing.assert_allclose(actions, jax.vmap(distribution.sample)(noise), rtol=1e-6)
    np.testing.assert_allclose(log_probs, jax.vmap(distribution.log_prob)(actions), atol=2e-3)


def test_the_log_density_of_a_sample_is_finite_where_tanh_is_one():
    distribution = SquashedGaussian(jnp.array([40.0]), jnp.array([0.0]))
    action, log_prob = distribution.sample_with_log_prob(jnp.zeros(1))
    assert action == 1
    # log N(0; 0, 1) - log(4 e^-80)
    assert log_prob == pytest.approx(-0.9189385 - np.log(4) + 80, rel=1e-5)


def test_the_slope_of_tanh_is_accurate_everywhere():
    u = np.array([-30.0, -3.0, 0.0, 0.1, 5.0])
    known = np.log(4) - 2 * np.logaddexp(u, -u)  # 1/cosh²
    np.testing.assert_allclose(log_slope(jnp.asarray(u, jnp.float32)), known, rtol=1e-5, atol=1e-6)


def test_wider_than_uniform_is_less_uncertain_than_uniform():
    """Squashing a wide Gaussian moves it to the edges; none has more entropy than log 2."""
    entropy = lambda log_std: float(SquashedGaussian(jnp.zeros(1), jnp.array([log_std])).entropy())
    assert entropy(-0.1) == pytest.approx(np.log(2), abs=0.05)
    assert entropy(2.0) < entropy(-0.1) > entropy(-2.0)


def test_squashing_does_not_change_the_kl():
    parameters = [(jnp.array([0.3]), jnp.array([-0.2])), (jnp.array([-0.3]), jnp.array([0.5]))]
    squashed, plain = ([kind(*p) for p in parameters] for kind in (SquashedGaussian, Gaussian))
    assert squashed[0].kl(squashed[1]) == plain[0].kl(plain[1])


def test_the_host_bounds_the_standard_deviation_too():
    policy = SquashedMLP.random(1, 1, 4, 1, Normaliser.identity(1), key=jax.random.key(0))
    layers = policy.network.layers
    for log_std in (-50.0, 50.0):
        bias = jnp.array([0.0, log_std])
        last = type(layers[-1])(jnp.zeros_like(layers[-1].weight), bias)
        network = type(policy.network)((layers[0], last), policy.network.activation, False)
        bounded = SquashedMLP(network, policy.normaliser)
        state, noise = np.ones((1, 1, 1), np.float32), np.full((1, 1, 1), 0.1, np.float32)
        expected = bounded.distribution(jnp.ones(1)).sample(jnp.full(1, 0.1))
        found = HostPolicy.single(bounded).sample(state, noise)[0, 0]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
