"""DAC's discriminator against density ratios that are known."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam
from ilfo.discriminators.replayed import ReplayClassifier, Source, apart

PLAIN = ReplayClassifier(width=32, batch_size=250, penalty=0.0, optimiser=Adam(3e-3))
COUNT = 4000
POINTS = jnp.linspace(-1.5, 1.5, 13)[:, None]


def side(mean: float, key: int, absorbed: float = 0.0, weight=jnp.ones_like) -> Source:
    """N(mean, 1)."""
    x = mean + jax.random.normal(jax.random.key(key), (COUNT, 1))
    return Source(lambda slots: x[slots], weight(x[:, 0]), jnp.asarray(absorbed))


def fitted(spec, learner, expert, updates=600):
    state = spec.init(1, key=jax.random.key(0))
    run = eqx.filter_jit(lambda s: spec.updates(s, learner, expert, updates, key=jax.random.key(1)))
    return run(state)


def test_the_reward_is_the_expert_to_learner_density_ratio():
    """log N(x; -0.5, 1) / N(x; 0.5, 1) = -x; Φ(1/2) of either side is told right."""
    state, log = fitted(PLAIN, side(0.5, 2), side(-0.5, 3))
    np.testing.assert_allclose(PLAIN.reward(state, POINTS), -POINTS[:, 0], atol=0.35)
    assert log["classifier_accuracy"] == pytest.approx(0.691, abs=0.04)


def test_steps_are_drawn_in_proportion_to_their_weight():
    """Weights exp(x) turn the learner's N(-0.5, 1) into N(0.5, 1)."""
    state, _ = fitted(PLAIN, side(-0.5, 2, weight=jnp.exp), side(-0.5, 3))
    np.testing.assert_allclose(PLAIN.reward(state, POINTS), -POINTS[:, 0], atol=0.45)


@pytest.mark.parametrize(("learner", "expert"), [(0.6, 0.2), (0.1, 0.5)])
def test_the_absorbing_state_is_told_by_the_time_spent_there(learner, expert):
    state, _ = fitted(PLAIN, side(0.0, 2, learner), side(0.0, 3, expert))
    np.testing.assert_allclose(PLAIN.ending_reward(state), np.log(expert / learner), atol=0.25)


def test_the_penalty_bounds_the_reward_of_the_absorbing_state_too():
    """Only the learner ends. Without a penalty the reward falls without bound, with it by no more
    than the distance of the absorbing state."""
    learner, expert = side(0.0, 2, 0.5), side(0.0, 3)
    free, _ = fitted(PLAIN, learner, expert)
    assert PLAIN.ending_reward(free) < -4
    spec = replace(PLAIN, penalty=10.0)
    bound, _ = fitted(spec, learner, expert)
    fall = spec.reward(bound, POINTS).mean() - spec.ending_reward(bound)
    assert 3 < fall < 1.3 * apart(1)


def test_an_untrained_classifier_rewards_nothing():
    state = PLAIN.init(1, key=jax.random.key(0))
    assert (PLAIN.reward(state, POINTS) == 0).all()
    assert PLAIN.ending_reward(state) == 0


def test_rewards_are_clipped():
    tight = replace(PLAIN, clip=0.01)
    state, _ = fitted(tight, side(0.5, 2), side(-0.5, 3), updates=50)
    rewards = tight.reward(state, POINTS)
    np.testing.assert_allclose([rewards.min(), rewards.max()], [-0.01, 0.01], rtol=1e-5)
    with pytest.raises(ValueError, match="clip is 0"):
        ReplayClassifier(clip=0.0)
