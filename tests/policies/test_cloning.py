"""Maximum likelihood recovers policies that are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Normaliser
from ilfo.policies.cloning import Cloning, negative_log_likelihood
from ilfo.policies.mlp import MLPPolicy, between

GAIN = jnp.array([[0.3, -0.2], [0.1, 0.25]])
SPEC = Cloning(optimiser=Adam(1e-2), plan=Passes(passes=60, batch_size=128))


def clone(policy, actions, states, **more):
    @eqx.filter_jit
    def run():
        valid, pairs = jnp.ones(states.shape[0], bool), (states, actions)
        return SPEC.fit(policy, SPEC.init(policy), pairs, valid, key=jax.random.key(3), **more)

    return run()


def test_a_linear_policy_is_recovered_with_its_noise():
    """a ~ N(K s, 0.2²), and a network without hidden layers is linear."""
    box = BoxActions((-1.0, -1.0), (1.0, 1.0), (2,))
    states = jax.random.normal(jax.random.key(0), (2000, 2))
    noise = 0.2 * jax.random.normal(jax.random.key(1), (2000, 2))
    spec = MLPPolicy(depth=0, log_std_min=-5.0)
    first = spec.init(2, box, Normaliser.identity(2), key=jax.random.key(2))
    policy, _, loss = clone(first, states @ GAIN.T + noise, states)
    layer = policy.network.layers[0]
    np.testing.assert_allclose(layer.weight.T, GAIN, atol=0.03)
    np.testing.assert_allclose(layer.bias, 0, atol=0.03)
    np.testing.assert_allclose(policy.log_std, np.log(0.2), atol=0.05)
    expected = 2 * (0.5 + np.log(0.2) + 0.5 * np.log(2 * np.pi))  # the entropy of the noise
    np.testing.assert_allclose(loss, expected, atol=0.1)


@pytest.mark.parametrize("state_noise", [False, True])
def test_the_noise_is_what_the_actions_show_and_how_they_scatter(state_noise):
    """a = K s + 0.1 ε, known up to a variance of 0.2²."""
    box = BoxActions((-1.0, -1.0), (1.0, 1.0), (2,))
    states = jax.random.normal(jax.random.key(0), (2000, 2))
    actions = states @ GAIN.T + 0.1 * jax.random.normal(jax.random.key(1), (2000, 2))
    spec = MLPPolicy(depth=0, log_std_min=-5.0, state_noise=state_noise)
    first = spec.init(2, box, Normaliser.identity(2), key=jax.random.key(2))
    policy, _, _ = clone(first, actions, states, scatter=0.2**2)
    said = jax.vmap(policy.distribution)(states)
    np.testing.assert_allclose(said.mean, states @ GAIN.T, atol=0.1)
    variance = jnp.exp(2 * said.log_std).mean(0)
    np.testing.assert_allclose(variance, 0.1**2 + 0.2**2, rtol=0.15)


def test_discrete_actions_do_not_scatter():
    first = MLPPolicy(depth=0).init(
        2, DiscreteActions(4), Normaliser.identity(2), key=jax.random.key(2)
    )
    pairs, weight = (jnp.ones((3, 2)), jnp.array([0, 1, 2])), jnp.ones(3)
    loss = lambda **more: negative_log_likelihood(first, pairs, weight, **more)
    assert loss(scatter=1.0) == loss()


def noisy_line(mean):
    """States, and actions around `mean(s₀)` whose noise is small on the left and large on the
    right; the spec of a policy that is linear before its bounds."""
    states = jax.random.uniform(jax.random.key(0), (4000, 1), minval=-1.0)
    width = jnp.exp(between(3 * states, -4.0, 1.0, jnp))
    actions = mean(states) + width * jax.random.normal(jax.random.key(1), (4000, 1))
    first = MLPPolicy(depth=0, log_std_min=-4.0, state_noise=True).init(
        1, BoxActions((-1.0,), (1.0,), (1,)), Normaliser.identity(1), key=jax.random.key(2)
    )
    return states, actions, first


def test_noise_that_depends_on_the_state_is_recovered():
    states, actions, first = noisy_line(lambda s: 0.5 * s)
    policy, _, _ = clone(first, actions, states)
    layer = policy.network.layers[0]
    np.testing.assert_allclose(layer.weight[0], [0.5, 3.0], atol=0.15)
    np.testing.assert_allclose(layer.bias, [0.0, 0.0], atol=0.1)


def test_the_mean_is_fitted_alike_where_noise_is_small_and_where_it_is_large():
    """A line cannot follow a parabola: least squares decides, not the places with little noise."""
    states, actions, first = noisy_line(lambda s: s**2)
    policy, _, _ = clone(first, actions, states)
    layer = policy.network.layers[0]
    slope, height = np.polyfit(states[:, 0], actions[:, 0], 1)
    np.testing.assert_allclose([layer.weight[0, 0], layer.bias[0]], [slope, height], atol=0.1)
    assert abs(slope) < 0.1  # where noise is small, on the left, it is about -1.5


def test_a_standard_deviation_that_falls_below_its_bound_stays_on_it():
    box = BoxActions((-1.0,), (1.0,), (1,))
    states = jax.random.normal(jax.random.key(0), (500, 2))
    spec = MLPPolicy(depth=0, log_std_min=-1.0)
    first = spec.init(2, box, Normaliser.identity(2), key=jax.random.key(2))
    policy, _, _ = clone(first, states[:, :1] * 0.1, states)
    np.testing.assert_allclose(policy.log_std, -1.0)


def test_a_logistic_policy_is_recovered():
    """P(1|s) = σ(2 s₀ - s₁)."""
    states = jax.random.normal(jax.random.key(0), (4000, 2))
    odds = states @ jnp.array([2.0, -1.0])
    actions = jax.random.bernoulli(jax.random.key(1), jax.nn.sigmoid(odds)).astype(jnp.int32)
    first = MLPPolicy(depth=0).init(
        2, DiscreteActions(2), Normaliser.identity(2), key=jax.random.key(2)
    )
    policy, _, _ = clone(first, actions, states)
    weight = policy.network.layers[0].weight
    np.testing.assert_allclose(weight[:, 1] - weight[:, 0], [2.0, -1.0], atol=0.25)


def test_regularisation_leaves_the_scales_of_states_alone():
    spec = Cloning(optimiser=Adam(1e-2, regularisation=0.1), plan=Passes(passes=5))
    states = 3 + jax.random.normal(jax.random.key(0), (200, 2))
    normaliser = Normaliser.fit(states, jnp.ones(200))
    first = MLPPolicy().init(2, DiscreteActions(2), normaliser, key=jax.random.key(2))
    pairs, valid = (states, jnp.zeros(200, jnp.int32)), jnp.ones(200, bool)
    policy, _, _ = spec.fit(first, spec.init(first), pairs, valid, key=jax.random.key(3))
    np.testing.assert_array_equal(policy.normaliser.shift, normaliser.shift)
    np.testing.assert_array_equal(policy.normaliser.scale, normaliser.scale)
    weight = lambda policy: policy.network.layers[0].weight
    assert jnp.abs(weight(policy)).mean() < 0.9 * jnp.abs(weight(first)).mean()


def test_surprise_by_hand():
    first = MLPPolicy(depth=0).init(
        2, DiscreteActions(4), Normaliser.identity(2), key=jax.random.key(2)
    )
    flat = jax.tree.map(lambda x: 0 * x if eqx.is_inexact_array(x) else x, first.network)
    policy = eqx.tree_at(lambda p: p.network, first, flat)
    pairs = (jnp.zeros((3, 2)), jnp.array([0, 1, 2]))
    np.testing.assert_allclose(
        negative_log_likelihood(policy, pairs, jnp.array([1.0, 0.0, 2.0])), np.log(4)
    )
