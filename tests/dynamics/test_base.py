import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ilfo.dynamics.base import gaussian_l1


@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("shift", [0.01, 0.5, 4.0])
def test_distance_of_gaussians_is_the_integral(shift, noise):
    density = lambda x, mean: norm.pdf(x, mean, noise)
    low, high = -10 * noise, shift + 10 * noise
    apart = lambda x: abs(density(x, 0) - density(x, shift))
    expected, _ = quad(apart, low, high, points=[0, shift / 2, shift], limit=200)
    assert gaussian_l1(jnp.array([shift]), noise) == pytest.approx(expected, abs=1e-5)


def test_only_the_length_of_the_shift_counts():
    assert gaussian_l1(jnp.array([3.0, 4.0]), 2.0) == pytest.approx(
        float(gaussian_l1(jnp.array([0.0, 5.0, 0.0]), 2.0))
    )


def test_the_papers_bound_holds_and_is_loose_by_the_root_of_half_pi():
    shifts = np.linspace(0.01, 8, 200)
    exact = np.array([gaussian_l1(jnp.array([shift]), 1.0) for shift in shifts])
    assert (exact <= np.minimum(shifts, 2)).all()
    assert shifts[0] / exact[0] == pytest.approx(np.sqrt(np.pi / 2), rel=1e-3)
