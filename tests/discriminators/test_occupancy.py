"""Weights by hand, and against what they are for: no bias from where a stream is cut."""

import jax.numpy as jnp
import numpy as np

from ilfo.common.types import Rollout
from ilfo.discriminators.occupancy import by_age, recorded


def streams(lengths: list[list[int]], steps: int) -> Rollout:
    """Streams of episodes of those lengths, all terminal but the one that the stream cuts."""
    elapsed = np.zeros((len(lengths), steps), int)
    terminal = np.zeros((len(lengths), steps), bool)
    for row, episodes in enumerate(lengths):
        ages = np.concatenate([np.arange(n) for n in episodes])[:steps]
        assert len(ages) == steps
        elapsed[row] = ages
        ends = np.cumsum(episodes) - 1
        terminal[row, ends[ends < steps]] = True
    never = jnp.zeros(elapsed.shape, bool)
    blank = jnp.zeros((*elapsed.shape, 1))
    return Rollout(
        blank, None, blank, jnp.asarray(terminal), never, never, ~never, jnp.asarray(elapsed)
    )


def test_by_age_by_hand():
    """One stream of 4 steps: an episode of 3, then the first step of another."""
    occupancy = by_age(streams([[3, 3]], 4))
    # age 0 was seen twice, ages 1 to 3 once: the second episode could be seen at age 0 only
    np.testing.assert_allclose(occupancy.step, [[0.5, 1, 1, 0.5]])
    np.testing.assert_allclose(occupancy.after_termination[0, 2], 1.0)  # age 3 of the first episode


def test_every_age_weighs_one():
    occupancy = by_age(rollout := streams([[2, 5, 4], [10], [1, 1, 1, 1, 9]], 10))
    absorbed = (rollout.terminal * occupancy.after_termination).sum()
    np.testing.assert_allclose(occupancy.step.sum() + absorbed, 10.0, rtol=1e-6)


def test_streams_of_equal_episodes_give_their_own_share():
    """Episodes of 6 of 10 steps spend 0.4 of their time after termination, however they are cut."""
    occupancy = by_age(rollout := streams([[6, 6]], 10))
    absorbed = float((rollout.terminal * occupancy.after_termination).sum())
    np.testing.assert_allclose(absorbed / 10, 0.4, rtol=1e-6)
    plain = recorded(rollout, 10)
    naive = float((rollout.terminal * plain.after_termination).sum())
    assert naive / (naive + 10) < 0.3


def test_trajectories_from_the_start_weigh_alike():
    """Imagined trajectories begin at time 0 and are invalid after their end."""
    rollout = streams([[3, 7], [10]], 10)
    valid = jnp.asarray(np.arange(10) < np.array([[3], [10]]))
    elapsed = jnp.broadcast_to(jnp.arange(10), (2, 10))
    occupancy = by_age(rollout._replace(valid=valid, elapsed=elapsed))
    np.testing.assert_allclose(occupancy.step, np.where(valid, 0.5, 0.0))
    np.testing.assert_allclose(occupancy.after_termination[0, 2], 3.5)


def test_recorded_counts_endings_up_to_the_horizon():
    occupancy = recorded(streams([[3, 1]], 4), horizon=10)
    np.testing.assert_allclose(occupancy.step, 1.0)
    np.testing.assert_allclose(occupancy.after_termination, [[9, 8, 7, 9]])
