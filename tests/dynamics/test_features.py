import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.dynamics.features import OneHot, Polynomial, RandomFourier

BOX, DISCRETE = BoxActions((-1.0,), (1.0,), (1,)), DiscreteActions(3)
KEY = jax.random.key(0)


def inputs(count, size, seed=0):
    return np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)


def test_fourier_features_have_norm_one_and_tend_to_the_rbf_kernel():
    fitted = RandomFourier(count=20_000, bandwidth=2.0).init(2, BOX, key=KEY)
    x, y = inputs(2, 3)
    assert jnp.linalg.norm(fitted(x)) == pytest.approx(1, abs=1e-5)
    expected = np.exp(-((x - y) ** 2).sum() / 8)
    assert fitted.kernel(x, y) == pytest.approx(expected, rel=1e-5)
    assert fitted(x) @ fitted(y) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomial_features_are_the_kernel_exactly(degree):
    fitted = Polynomial(degree).init(2, BOX, key=KEY)
    for x, y in inputs(10, 6).reshape(10, 2, 3):
        expected = ((1 + x @ y) / 4) ** degree
        assert fitted(x) @ fitted(y) == pytest.approx(expected, rel=1e-3, abs=1e-5)
        assert fitted.kernel(x, y) == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert jnp.linalg.norm(fitted(jnp.ones(3))) == pytest.approx(1, abs=1e-5)


def test_polynomials_of_two_variables_by_hand():
    """One state, one action, degree 2: 1, x, y, x², xy, y² with √ of their multiplicities."""
    fitted = Polynomial(2).init(1, BOX, key=KEY)
    x, y = 2.0, 5.0
    expected = np.array([1, 2**0.5 * x, 2**0.5 * y, x * x, 2**0.5 * x * y, y * y]) / 3
    np.testing.assert_allclose(fitted(jnp.array([x, y])), expected, rtol=1e-6)


def test_one_hot_features_tell_pairs_apart():
    fitted = OneHot().init(2, DISCRETE, key=KEY)
    x = jnp.array([0.0, 1.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(fitted(x), [0, 0, 0, 0, 0, 1])
    assert fitted.kernel(x, x) == 1
    assert fitted.kernel(x, jnp.array([1.0, 0.0, 0.0, 0.0, 1.0])) == 0


def test_one_hot_features_need_actions_that_can_be_counted():
    with pytest.raises(ValueError, match="needs Discrete actions"):
        OneHot().init(2, BOX, key=KEY)
