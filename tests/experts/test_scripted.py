"""Controllers written by hand, and their recordings."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.common.seeding import Purpose, stream_seed
from ilfo.experts.scripted import hold_cart, record_scripted, swing_up
from tests.helpers.counting import LIMIT, counting


def by_tag(state):
    """Two steps at a time in every second episode or so: the tag is a number in [0, 1)."""
    return int(state[1] > 0.5)


def recorded(episodes=8, seed=2, time_limit=6):
    environment = counting("discrete", time_limit)
    demonstrations = record_scripted(environment, by_tag, episodes=episodes, seed=seed)
    return demonstrations, environment.unwrapped


def states(demonstrations):
    return [trajectory.states.tobytes() for trajectory in demonstrations]


def test_whole_episodes_as_the_controller_leads_them():
    demonstrations, _ = recorded()
    assert demonstrations.count() == 8
    for trajectory in demonstrations:
        position, tag = trajectory.states.T
        np.testing.assert_array_equal(np.diff(position), 1 + by_tag(trajectory.states[0]))
        assert (tag == tag[0]).all()
        assert trajectory.terminal == (position[-1] >= LIMIT)
        assert trajectory.terminal or len(position) == 7
        assert trajectory.actions is None
    assert 0 < sum(trajectory.terminal for trajectory in demonstrations) < 8


def test_returns_are_the_sums_of_rewards():
    demonstrations, _ = recorded()
    totals = [trajectory.states[1:, 0].sum() for trajectory in demonstrations]
    np.testing.assert_allclose(demonstrations.returns, totals)
    assert demonstrations.expert_return == pytest.approx(np.mean(totals))
    assert demonstrations.metadata["seed"] == 2


def test_every_episode_has_a_seed_of_its_own():
    _, environment = recorded()
    assert environment.seeds == [stream_seed(2, Purpose.RECORD, number) for number in range(8)]
    assert len(set(environment.seeds)) == 8


def test_same_seed_same_bits_and_more_episodes_come_behind():
    first, again, longer, other = (
        states(recorded(episodes, seed)[0]) for episodes, seed in ((8, 2), (8, 2), (12, 2), (8, 3))
    )
    assert first == again == longer[:8]
    assert not set(first) & set(other)


@pytest.mark.parametrize("place", [-0.8, 0.0, 1.5])
def test_the_cart_is_held_where_it_was_asked_to(place):
    environment = gym.make("CartPole-v1")
    demonstrations = record_scripted(environment, hold_cart(place), episodes=3, seed=0)
    assert (demonstrations.lengths == 500).all()
    assert (demonstrations.returns == 500).all()
    for trajectory in demonstrations:
        assert not trajectory.terminal
        assert np.abs(trajectory.states[250:, 0] - place).mean() < 0.2


def test_the_car_always_reaches_its_goal():
    environment = gym.make("MountainCar-v0")
    demonstrations = record_scripted(environment, swing_up, episodes=5, seed=0)
    for trajectory in demonstrations:
        assert trajectory.terminal
        assert trajectory.states[-1, 0] >= 0.5
    assert demonstrations.lengths.max() < 140
    np.testing.assert_array_equal(demonstrations.returns, -demonstrations.lengths)


def test_a_car_at_rest_is_pushed_as_well():
    assert swing_up(np.array([-0.5, 0.0])) == 2
    assert swing_up(np.array([-0.5, -0.01])) == 0
    assert swing_up(np.array([-0.5, 0.01])) == 2
