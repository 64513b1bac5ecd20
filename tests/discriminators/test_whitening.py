"""Differences in units of the demonstrations' own spread: `MMD(ridge=...)`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.types import DemonstratedSteps
from ilfo.discriminators.mmd import ABSORBED, TRAJECTORIES, whitening
from tests.helpers.agents import plain_mmd


def all_features(state, pairs):
    return jax.vmap(state.features)(pairs[:, 0], pairs[:, 1])


def trajectories(count=6, length=200, seed=0):
    """Steps of trajectories that each rest at a goal of their own in one coordinate, and do the
    same in the other: how far off a learner is there should be seen whatever the goals were."""
    rng = np.random.default_rng(seed)
    goals = np.repeat(rng.normal(size=count), length)
    noise = rng.normal(scale=0.3, size=(count * length, 2))
    states = np.stack([goals, np.zeros_like(goals)], -1) + noise
    pairs = np.stack([states, states], 1).astype(np.float32)
    return DemonstratedSteps.from_pairs(jnp.asarray(pairs), jnp.repeat(jnp.arange(count), length))


def told_apart(spec, count=40):
    """Distances from the demonstrations: of the same behaviour at other goals, and of a shift in
    what all demonstrations agree on."""
    expert = trajectories()
    state = spec.init(expert, None, key=jax.random.key(0))
    mean = lambda pairs: all_features(state, pairs).mean(0)
    others = trajectories(count, seed=1).pairs
    shifted = expert.pairs + jnp.array([0.0, 0.3])
    own = mean(expert.pairs)
    return state.distance(mean(others), own), state.distance(mean(shifted), own)


def test_what_demonstrations_disagree_on_counts_less():
    other_goals, wrong = told_apart(plain_mmd(128, bandwidth_quantile=0.5))
    goals_whitened, wrong_whitened = told_apart(plain_mmd(128, bandwidth_quantile=0.5, ridge=0.1))
    assert goals_whitened < other_goals
    assert wrong_whitened > wrong
    assert wrong_whitened / goals_whitened > 1.3 * wrong / other_goals


def test_whitening_is_the_root_of_the_inverse_spread():
    """Against the formula in double precision, up to its scale."""
    rng = np.random.default_rng(0)
    features, trajectory = rng.normal(size=(60, 4)), np.arange(60) % 5
    features += 0.5 * rng.normal(size=(5, 4))[trajectory]
    means = np.stack([features[trajectory == k].mean(0) for k in range(5)])
    spread = np.cov(means.T)
    metric = np.linalg.inv(spread + 0.7 * np.trace(spread) / 4 * np.eye(4))
    actual = np.asarray(whitening(jnp.asarray(features, jnp.float32), jnp.asarray(trajectory), 0.7))
    assert (features @ actual.T).var() + (features @ actual.T).mean() ** 2 == pytest.approx(
        1 / 4, rel=1e-4
    )
    ratio = (actual.T @ actual) / metric
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-3)


@pytest.mark.parametrize("count", [1, 30])
def test_without_a_spread_all_directions_count_alike(count):
    """A single demonstration, or several that are the same."""
    features = jnp.tile(jax.random.normal(jax.random.key(0), (10, 4)), (count, 1))
    actual = np.asarray(whitening(features, jnp.repeat(jnp.arange(count), 10), 0.5))
    np.testing.assert_allclose(actual, actual[0, 0] * np.eye(4), atol=1e-6)


@pytest.mark.parametrize("form", ["ball", "penalised"])
def test_the_whitened_cost_tells_the_means_apart_by_the_distance(form):
    """Its w lies on the ball, or is the difference itself: f gains ζ‖BΔ‖, or ‖BΔ‖²."""
    spec, expert = plain_mmd(64, ridge=0.5, form=form, zeta=2.0), trajectories()
    state = spec.init(expert, None, key=jax.random.key(0))
    own = all_features(state, expert.pairs).mean(0)
    other = all_features(state, expert.pairs + 0.4).mean(0)
    fitted = spec.fit(state, other, own)
    distance = float(state.distance(other, own))
    gained = float(fitted(other) - fitted(own))
    assert gained == pytest.approx(2 * distance if form == "ball" else distance**2, rel=1e-3)


def test_endings_cost_as_ever_in_a_whitened_discriminator():
    """By hand: the absorbed share of the difference, over its whole length."""
    spec, expert = plain_mmd(64, ridge=0.5), trajectories()
    state = spec.init(expert, None, key=jax.random.key(0))
    own = all_features(state, expert.pairs).mean(0)
    other = 0.6 * all_features(state, expert.pairs + 0.4).mean(0)
    other = other.at[ABSORBED].set(0.4)
    absorbed, runaway = spec.ending_costs(spec.fit(state, other, own))
    assert float(absorbed) == pytest.approx(0.4 / float(state.distance(other, own)), rel=1e-4)
    assert runaway == 0


def test_demonstrations_beyond_the_last_one_that_is_looked_at_change_nothing():
    features = jax.random.normal(jax.random.key(0), (3 * TRAJECTORIES, 4))
    number = jnp.arange(3 * TRAJECTORIES) // 2
    actual = whitening(features, number, 0.5)
    inside = np.asarray(number) < TRAJECTORIES
    alone = whitening(features[inside], number[inside], 0.5)
    np.testing.assert_allclose(actual / actual[0, 0], alone / alone[0, 0], atol=1e-4)


def test_a_ridge_that_single_precision_cannot_tell_from_nothing_is_refused():
    with pytest.raises(ValueError, match=r"ridge is 1e-06, but must be at least 0\.001"):
        plain_mmd(ridge=1e-6)
    features = jax.random.normal(jax.random.key(0), (40, 256))
    assert jnp.isfinite(whitening(features, jnp.arange(40) % 3, 1e-3)).all()
