"""The clipped surrogate by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.planners.ppo import PPO
from ilfo.policies.base import AbstractPolicy, Categorical


class Coin(AbstractPolicy):
    """Heads with odds e^logit, whatever the state."""

    logit: jax.Array

    def distribution(self, state):
        return Categorical(jnp.array([self.logit, 0.0]))


def loss(planner: PPO, coin: Coin, ratio: float, advantage: float) -> jax.Array:
    """Of one step on which heads came up, `ratio` times likelier now than it was then."""
    old_log_prob = jnp.log(jnp.array([0.5])) - jnp.log(ratio)
    rows = jnp.zeros((1, 1)), jnp.zeros(1, jnp.int32), jnp.array([advantage]), old_log_prob
    return planner._loss(coin, rows, jnp.ones(1))


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "slope"),
    [
        (1.1, -2.0, -2.2, -1.1),
        (1.5, -2.0, -2.4, 0.0),  # cheap and likelier by more than a fifth: no more to gain
        (0.5, 2.0, 1.6, 0.0),  # dear and rarer by more than a fifth: no more to gain
        (1.5, 2.0, 3.0, 1.5),  # dear and likelier: a mistake counts in full
        (0.5, -2.0, -1.0, -0.5),  # cheap and rarer: a mistake counts in full
    ],
)
def test_clipped_surrogate(ratio: float, advantage: float, expected: float, slope: float) -> None:
    """At even odds d ratio / d logit = ratio · (1 - ½), hence slope = advantage · ratio / 2."""
    coin, planner = Coin(jnp.array(0.0)), PPO(clip=0.2)
    value, gradient = eqx.filter_value_and_grad(lambda coin: loss(planner, coin, ratio, advantage))(
        coin
    )
    assert value == pytest.approx(expected, rel=1e-5)
    assert gradient.logit == pytest.approx(slope, abs=1e-5)


def test_the_entropy_bonus_is_taken_off() -> None:
    coin = Coin(jnp.array(0.0))
    with_bonus, without = (loss(PPO(entropy=e), coin, 1.0, 3.0) for e in (0.1, 0.0))
    assert without - with_bonus == pytest.approx(0.1 * np.log(2), rel=1e-4)
