"""The noise floor, against the distance that the expert's further episodes really have."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.types import DemonstratedSteps
from ilfo.discriminators.constant import ConstantCost
from ilfo.discriminators.floor import FOLDS, Floor, by_leaving_out
from tests.helpers.agents import plain_mmd

HORIZON, NEW = 30, 200


def episodes(count: int, seed: int) -> np.ndarray:
    """Each around a centre of its own (count, HORIZON + 1, 2)."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(count, 1, 2))
    return (centres + 0.3 * generator.normal(size=(count, HORIZON + 1, 2))).astype(np.float32)


def as_steps(states: np.ndarray, horizon: int = HORIZON) -> DemonstratedSteps:
    pairs = np.stack([states[:, :-1], states[:, 1:]], 2).reshape(-1, 2, states.shape[-1])
    elapsed = np.tile(np.arange(horizon), len(states)).astype(np.int32)
    trajectory = np.repeat(np.arange(len(states)), horizon).astype(np.int32)
    never = jnp.zeros(len(pairs), bool)
    return DemonstratedSteps(
        jnp.asarray(pairs), None, never, jnp.asarray(elapsed), jnp.asarray(trajectory)
    )


@pytest.mark.parametrize("ridge", [None, 1.0])
@pytest.mark.parametrize("count", [8, 2 * FOLDS + 3])
def test_new_episodes_of_the_expert_are_as_far_as_the_floor_says(count, ridge):
    spec = plain_mmd(features=32, bandwidth_quantile=0.5, ridge=ridge)
    ratios = []
    for seed in range(4):
        steps = as_steps(episodes(count, seed))
        fitted = spec.init(steps, None, key=jax.random.key(seed))
        floor = spec.floor(fitted, steps, HORIZON)
        means = jax.vmap(
            lambda states, fitted=fitted: jax.vmap(fitted.demonstrated)(
                states[:-1], states[1:]
            ).mean(0)
        )
        expert = means(jnp.asarray(episodes(count, seed))).mean(0)
        further = means(jnp.asarray(episodes(NEW, 100 + seed))).reshape(NEW // 2, 2, -1).mean(1)
        squared = jax.vmap(lambda m, f=fitted, e=expert: f.distance(m, e))(further) ** 2
        ratios.append(float(squared.mean() / floor(2) ** 2))
    assert 0.6 < np.mean(ratios) < 1.6


def test_more_episodes_lower_the_floor_to_that_of_the_demonstrations():
    floor = Floor(jnp.asarray(2.0), jnp.asarray(8.0))
    assert float(floor(2)) == pytest.approx((2 * (1 / 2 + 1 / 8)) ** 0.5)
    assert float(floor(1e9)) == pytest.approx(0.5, rel=1e-3)


def test_a_single_demonstration_shows_no_floor():
    spec, steps = plain_mmd(features=8), as_steps(episodes(1, 0))
    fitted = spec.init(steps, None, key=jax.random.key(0))
    assert float(spec.floor(fitted, steps, HORIZON)(1)) == 0


def test_leaving_out_uses_every_demonstration_once():
    values = jnp.arange(7.0)
    squared = lambda out, rest: (
        ((out * values).sum() / out.sum() - (rest * values).sum() / rest.sum()) ** 2
    )
    floor = by_leaving_out(jnp.ones(7, bool), squared)
    assert float(floor.scatter) == pytest.approx(np.var(np.arange(7), ddof=1), rel=1e-4)


def test_an_ending_counts_up_to_the_horizon():
    """Expert episodes that end at different times differ, even if their states do not."""
    spec = plain_mmd(features=8)
    states = np.zeros((4, HORIZON + 1, 2), np.float32) + np.arange(HORIZON + 1)[:, None]
    steps = as_steps(states)
    fitted = spec.init(steps, None, key=jax.random.key(0))
    kept = (steps.trajectory > 1) | (steps.elapsed < 10)
    ended = steps._replace(terminal=(steps.trajectory < 2) & (steps.elapsed == 9))
    shorter = jax.tree.map(lambda x: x[np.asarray(kept)], ended)
    assert float(spec.floor(fitted, steps, HORIZON).scatter) == pytest.approx(0, abs=1e-9)
    assert float(spec.floor(fitted, shorter, HORIZON).scatter) > 0.1


def test_the_survival_reference_has_the_floor_of_what_it_wraps():
    steps = as_steps(episodes(3, 0))
    fitted = plain_mmd(features=8).init(steps, None, key=jax.random.key(0))
    expected = plain_mmd(features=8).floor(fitted, steps, HORIZON)
    got = ConstantCost(plain_mmd(features=8)).floor(fitted, steps, HORIZON)
    assert float(got.scatter) == float(expected.scatter)
