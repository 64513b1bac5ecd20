import numpy as np
import pytest

from ilfo.theory.slopes import bootstrap_draws, normal_draws, slope, slope_with_interval

X = np.array([1.0, 4.0, 16.0, 64.0])


def test_slope_of_a_power_is_its_exponent():
    assert slope(X, 3 * X**0.7) == pytest.approx(0.7)
    np.testing.assert_allclose(slope(X, np.stack([X, X**-0.5])), [1, -0.5])


def test_intervals_cover_the_exponent_about_as_often_as_they_say():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        mean = X**0.5 + 0.05 * X**0.5 * rng.normal(size=4)
        draws = normal_draws(mean, 0.05 * X**0.5, rng, 200)
        actual = slope_with_interval(X, mean, draws)
        covered += actual.low <= 0.5 <= actual.high
    assert 0.88 <= covered / 200 <= 0.99


def test_bootstrap_spreads_like_the_standard_error():
    values = np.random.default_rng(1).normal(5, 2, size=(400, 3))
    spread = bootstrap_draws(values, np.random.default_rng(0)).std(0)
    np.testing.assert_allclose(spread, values.std(0) / 20, rtol=0.15)
