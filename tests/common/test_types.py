import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.types import DemonstratedSteps, Normaliser


def rows(count=50, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal([1.0, -20.0, 0.0], [1.0, 5.0, 0.3], (count, 3)).astype(np.float32)


def test_fit_is_the_mean_and_the_population_deviation():
    x = rows()
    fitted = Normaliser.fit(x, jnp.ones(len(x)))
    np.testing.assert_allclose(fitted.shift, x.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fitted.scale, x.std(0), rtol=1e-5)


def test_inverse_undoes_the_map():
    x = rows()
    fitted = Normaliser.fit(x, jnp.ones(len(x)))
    np.testing.assert_allclose(fitted.inverse(fitted(x)), x, rtol=1e-5, atol=1e-5)
    z = fitted(x)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(z.std(0), 1, rtol=1e-5)


def test_rows_of_weight_zero_do_not_exist():
    x = rows()
    with_junk = np.concatenate([x, np.full((30, 3), 1e4, np.float32)])
    weight = jnp.concatenate([jnp.ones(50), jnp.zeros(30)])
    plain, masked = Normaliser.fit(x, jnp.ones(50)), Normaliser.fit(with_junk, weight)
    np.testing.assert_allclose(masked.shift, plain.shift, rtol=1e-6)
    np.testing.assert_allclose(masked.scale, plain.scale, rtol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_a_weight_counts_like_repeated_rows_in_any_unit(unit):
    x, repeats = rows(4), np.array([3, 1, 0, 2])
    weighted = Normaliser.fit(x, jnp.asarray(repeats * unit, jnp.float32))
    repeated = np.repeat(x, repeats, axis=0)
    np.testing.assert_allclose(weighted.shift, repeated.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weighted.scale, repeated.std(0), rtol=1e-5)


def test_a_dimension_of_another_unit_keeps_its_own_scale():
    x = rows() * np.array([1e4, 1.0, 1.0])
    fitted = Normaliser.fit(x, jnp.ones(50))
    np.testing.assert_allclose(fitted.scale, x.std(0), rtol=1e-4)


def test_what_is_nothing_beside_the_others_has_the_scale_of_a_typical_one():
    x = rows() * np.array([1.0, 1e-9, 1.0])
    fitted = Normaliser.fit(x, jnp.ones(50))
    assert fitted.scale[1] == pytest.approx(np.median(x.std(0)[[0, 2]]), rel=1e-4)


@pytest.mark.parametrize("value", [0.0, 7.0, -3e4])
def test_a_row_that_leaves_a_constant_dimension_is_not_beyond_all_others(value):
    """The first to do so may be a model's error of a thousandth, or a flag that is set at last."""
    x = rows()
    x[:, 1] = value
    fitted = Normaliser.fit(x, jnp.ones(50))
    elsewhere = np.median(x.std(0)[[0, 2]])
    assert fitted.scale[1] == pytest.approx(max(elsewhere, 1e-3 * abs(value)), rel=1e-4)
    np.testing.assert_allclose(fitted.scale[jnp.array([0, 2])], x.std(0)[[0, 2]], rtol=1e-5)
    np.testing.assert_allclose(fitted(x)[:, 1], 0, atol=1e-3)


def test_a_single_dimension_that_only_rounding_moves_has_the_floor_of_its_size():
    way = np.linspace(0, 1.1, 12, dtype=np.float32)[:, None]
    steps = np.diff(way, axis=0)
    assert 0 < steps.std() < 1e-6
    fitted = Normaliser.fit(steps, jnp.ones(11))
    np.testing.assert_allclose(fitted.scale, 1e-3 * 0.1, rtol=1e-3)


def test_a_nearly_constant_dimension_gets_the_floor_of_its_own_size():
    x = rows()
    x[:, 1] = 7.0 + 1e-3 * x[:, 0]
    fitted = Normaliser.fit(x, jnp.ones(50), floor=0.01)
    assert fitted.scale[1] == pytest.approx(0.01 * 7.0, rel=1e-3)


def test_no_scale_is_below_the_least():
    x, least = rows(), np.array([0.5, 50.0, 0.1])
    fitted = Normaliser.fit(x, jnp.ones(50), least=jnp.asarray(least))
    np.testing.assert_allclose(fitted.scale, np.maximum(x.std(0), least), rtol=1e-5)


def test_of_targets_what_is_constant_is_predicted_as_constant():
    x = rows()
    x[:, 1] = 0.0
    fitted = Normaliser.of_targets(x, jnp.ones(50))
    np.testing.assert_allclose(fitted.scale[jnp.array([0, 2])], x.std(0)[[0, 2]], rtol=1e-5)
    np.testing.assert_allclose(fitted.inverse(jnp.ones(3))[1], 0, atol=1e-5)


@pytest.mark.parametrize(("of", "kind"), [("before", 0), ("after", 0), ("change", 1)])
def test_demonstrated_steps_know_their_scales(of, kind):
    pairs = np.stack([rows(seed=1), rows(seed=2)], 1)
    observed = {"before": pairs[:, 0], "after": pairs[:, 1], "change": pairs[:, 1] - pairs[:, 0]}
    steps = DemonstratedSteps.from_pairs(jnp.asarray(pairs))
    np.testing.assert_allclose(steps.scales(of).scale, observed[of].std(0), rtol=1e-5)
    least = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]], np.float32)
    bounded = steps._replace(least=jnp.asarray(least)).scales(of)
    np.testing.assert_allclose(
        bounded.scale, np.maximum(observed[of].std(0), least[kind]), rtol=1e-5
    )


def test_without_any_movement_the_scale_is_one():
    fitted = Normaliser.fit(jnp.full((8, 2), 3.0), jnp.ones(8))
    np.testing.assert_array_equal(fitted.scale, 1)
    np.testing.assert_array_equal(fitted(jnp.array([4.0, 3.0])), [1, 0])


def test_no_rows_at_all_give_the_identity():
    fitted = Normaliser.fit(jnp.full((8, 2), 3.0), jnp.zeros(8))
    np.testing.assert_array_equal(fitted.shift, 0)
    np.testing.assert_array_equal(fitted.scale, 1)


def test_identity_changes_nothing():
    x = rows()
    np.testing.assert_array_equal(Normaliser.identity(3)(x), x)
    np.testing.assert_array_equal(Normaliser.identity(3).inverse(x), x)
