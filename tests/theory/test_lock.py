import numpy as np
import pytest

from ilfo.theory.lock import RIGHT, SAFE, _until_doubled, combination_lock, mobile, simulate
from ilfo.theory.mdp import occupancy


def lock(seed=0, levels=3, actions=3):
    return combination_lock(levels, actions, np.random.default_rng(seed))


def test_the_expert_moves_on_as_often_as_its_actions_allow():
    actual = occupancy(lock().mdp, lock().expert).sum(-1)
    rate = (RIGHT + SAFE) / 2
    np.testing.assert_allclose([actual[step, step] for step in range(3)], [1, rate, rate**2])
    np.testing.assert_allclose(lock().mdp.transitions.sum(-1), 1)


def test_simulated_episodes_follow_policy_and_transitions():
    door = lock()
    states, actions, reached = simulate(door.mdp, door.expert, 20_000, np.random.default_rng(0))
    assert (reached[:, :-1] == states[:, 1:]).all()
    expected = occupancy(door.mdp, door.expert)
    for step in range(3):
        actual = np.zeros(expected.shape[1:])
        np.add.at(actual, (states[:, step], actions[:, step]), 1 / 20_000)
        np.testing.assert_allclose(actual, expected[step], atol=0.02)


def gaps(scale, seeds=range(6)):
    actual = []
    for seed in seeds:
        door = lock(seed, 4, 4)
        rng = np.random.default_rng(seed)
        actual.append(mobile(door, door.expert_states, scale, [64, 512], rng)[0])
    return np.array(actual)


@pytest.mark.slow
def test_with_the_bonus_the_gap_falls_and_without_it_stalls():
    """Without it, some learner gives up the right action after a single unlucky try."""
    explored, stalled = gaps(0.1), gaps(0.0)
    assert explored[:, 1].mean() < 0.3 * explored[:, 0].mean()
    assert explored[:, 1].max() < 0.15
    assert stalled[:, 1].max() == stalled[:, 0].max() > 0.5
    assert stalled[:, 1].mean() > 3 * explored[:, 1].mean()


@pytest.mark.parametrize(
    ("episodes", "taken"),
    [
        ([[(0, 0), (1, 1)], [(0, 1), (1, 1)], [(0, 0), (0, 1)], [(1, 0), (1, 0)]], 3),
        ([[(0, 0), (1, 1)], [(0, 1), (1, 1)]], 2),
        ([[(0, 0), (0, 0)], [(1, 1), (1, 1)]], 1),
        ([[(0, 1), (1, 1)], [(1, 0), (1, 1)], [(0, 1), (0, 1)]], 2),
    ],
    ids=["third", "never", "twice in one episode", "a single visit doubles one"],
)
def test_episodes_count_up_to_the_one_in_which_a_count_doubles(episodes, taken):
    before = np.array([[2, 3], [1, 4]])
    states, actions = np.moveaxis(np.array(episodes), -1, 0)
    assert _until_doubled((states, actions, None), before, 2 * before) == taken


def test_plans_are_made_when_a_count_has_doubled():
    """Once at first, and then for every pair at most once per doubling of its count."""
    door = lock()
    _, planned = mobile(door, door.expert_states, 0.1, [64, 256], np.random.default_rng(0))
    before, plans = planned
    assert 1 < before <= plans
    pairs, steps = 4 * 3, 256 * 3
    assert 1 < plans <= 1 + pairs * (1 + np.log2(steps))
