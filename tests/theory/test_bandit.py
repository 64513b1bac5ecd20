import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.theory.bandit import (
    Known,
    epsilon_greedy,
    greedy,
    matching,
    one_good_arm,
    optimism,
    regret,
    uniform,
)

KEY = jax.random.key(0)


def play(algorithm, means, rounds, repetitions=400, share=0.0):
    means = jnp.atleast_2d(jnp.asarray(means))
    shares = jnp.full(len(means), share)
    return np.asarray(regret(algorithm, means, shares, rounds, repetitions=repetitions, key=KEY))


def test_uniform_regret_by_hand():
    """Each round costs gap·(A − 1)/A on average, the first A rounds exactly gap·(A − 1)."""
    actual = play(uniform, one_good_arm(4, 0.5), 104)
    expected = 1.5 + 100 * 0.5 * 0.75
    assert actual.shape == (400, 1)
    assert actual.mean() == pytest.approx(expected, abs=float(actual.std()) / 5)


def test_greedy_with_two_arms_by_hand():
    """With a large gap and T = A + 1 rounds: the last is wrong with probability Φ(−gap/√2)."""
    actual = play(greedy, one_good_arm(2, 1.0), 3, repetitions=20_000)
    assert set(np.unique(actual)) == {1.0, 2.0}
    assert (actual == 2).mean() == pytest.approx(0.2398, abs=0.012)


def test_every_share_between_greedy_and_uniform():
    one = one_good_arm(3, 0.7)
    np.testing.assert_array_equal(play(epsilon_greedy, one, 50), play(greedy, one, 50))
    always = play(epsilon_greedy, one, 50, share=1.0)
    np.testing.assert_array_equal(always, play(uniform, one, 50))


def test_portions_do_not_lose_repetitions():
    many = jnp.tile(one_good_arm(2, 0.5), (6000, 1))
    assert play(greedy, many, 4, repetitions=7).shape == (7, 6000)


def known(counts, means, best=1.0, rounds=100.0):
    numbers = map(jnp.asarray, (counts, means))
    rest = [jnp.asarray(x) for x in (best, rounds, 0.0, 0.5)]
    return Known(*numbers, *rest, jnp.zeros(len(counts)))


def test_optimism_prefers_the_little_known():
    """Widths √(4 ln(T/(A n))/n): 2.43 after 2 draws, 0.79 after 10, none after 100."""
    assert optimism(known([2.0, 10.0], [0.0, 1.0])) == 0
    assert optimism(known([100.0, 100.0], [0.0, 1.0])) == 1


def test_matching_prefers_the_mean_that_was_shown():
    """Not the largest one: an arm that looks too good is not the expert's."""
    seen = known([200.0, 200.0, 200.0], [0.2, 0.9, 3.0])
    assert matching(seen) == 1
    assert optimism(seen) == 2
