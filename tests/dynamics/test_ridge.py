import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.dynamics.ridge import Ridge


def draw(count=30, features=5, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    phi, y = rng.normal(size=(count, features)), rng.normal(size=(count, outputs))
    return phi.astype(np.float32), y.astype(np.float32)


@pytest.mark.parametrize("portions", [1, 3, 30])
def test_any_portions_give_the_closed_form(portions):
    phi, y = draw()
    fitted = Ridge.empty(5, 2, 0.1)
    for rows, targets in zip(np.split(phi, portions), np.split(y, portions), strict=True):
        fitted = fitted.update(rows, targets)
    sigma = 0.1 * np.eye(5) + phi.T @ phi
    np.testing.assert_allclose(fitted.root.T @ fitted.root, sigma, rtol=1e-4, atol=1e-4)
    expected = np.linalg.solve(sigma, phi.T @ y)
    np.testing.assert_allclose(fitted.weights, expected, rtol=1e-4, atol=1e-5)
    inverse = fitted.inverse_root @ fitted.inverse_root.T
    np.testing.assert_allclose(inverse, np.linalg.inv(sigma), rtol=1e-3, atol=1e-5)
    gained = np.linalg.slogdet(sigma)[1] - 5 * np.log(0.1)
    assert fitted.information == pytest.approx(gained, rel=1e-4)


def test_nothing_seen_is_the_ridge_alone():
    fitted = Ridge.empty(3, 1, 0.25)
    np.testing.assert_allclose(fitted.inverse_root, 2 * np.eye(3))
    assert fitted.information == pytest.approx(0, abs=1e-6)
    assert not fitted.weights.any()


def test_a_small_ridge_survives_many_rows_of_single_precision():
    """Σ in float32 would lose 1e-4 beside 4e4; its root does not."""
    phi = np.tile(np.array([[1.0, 1.0], [1.0, -1.0]], np.float32) / 2**0.5, (20_000, 1))
    phi = np.concatenate([phi, np.zeros_like(phi[:, :1])], 1)
    fitted = Ridge.empty(3, 1, 1e-4)
    for rows in np.split(phi, 40):
        fitted = fitted.update(rows, np.ones((len(rows), 1), np.float32))
    unseen = jnp.linalg.norm(jnp.array([0.0, 0.0, 1.0]) @ fitted.inverse_root)
    assert unseen == pytest.approx(100, rel=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_elliptical_potential_of_any_sequence(seed):
    """Σ min(Σ_h ‖φ‖², 1) ≤ 2 ln(det Σ_T/det λI), whatever the sequence (Kakade et al. 2020, lemma
    B.6)."""
    rng = np.random.default_rng(seed)
    dim, steps = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    fitted, total = Ridge.empty(dim, 1, float(rng.uniform(0.05, 2))), 0.0
    for _ in range(40):
        phi = rng.normal(size=(steps, dim)) * rng.uniform(0.01, 3)
        phi = (phi / np.maximum(np.linalg.norm(phi, axis=1, keepdims=True), 1)).astype(np.float32)
        novelty = ((phi @ np.asarray(fitted.inverse_root)) ** 2).sum()
        total += min(novelty, 1.0)
        fitted = fitted.update(phi, np.zeros((steps, 1), np.float32))
    assert 0 < total <= 2 * float(fitted.information) * (1 + 1e-4)
