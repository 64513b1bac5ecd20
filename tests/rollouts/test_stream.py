"""A stream goes on where it stopped, and tells termination from time limits."""

import numpy as np
import pytest

from ilfo.common.spaces import action_space
from ilfo.rollouts.stream import Stream
from tests.helpers.counting import LIMIT, counting

NAME = (0, 1, 2)


def stream(time_limit: int | None = None) -> Stream:
    environment = counting("box", time_limit)
    return Stream(environment, action_space(environment.action_space), NAME)


def still(state: np.ndarray, step: int) -> np.ndarray:
    """-0.5 in the units of the environment: half a step forward."""
    return np.array([-1.0], np.float32)


def test_states_follow_each_other_across_calls():
    going = stream()
    parts = [going.take(still, count).transition for count in (3, 4)]
    states, following = (
        np.concatenate([np.asarray(getattr(part, name)) for part in parts])
        for name in ("state", "next_state")
    )
    np.testing.assert_array_equal(states[1:], following[:-1])
    np.testing.assert_allclose(np.diff(states[:, 0]), 0.5)


def test_two_calls_give_the_steps_of_one():
    whole, going = stream(4).take(still, 11), stream(4)
    parts = [going.take(still, count).reward for count in (5, 6)]
    np.testing.assert_array_equal(np.concatenate(parts), whole.reward)


def test_rewards_and_actions_are_those_of_the_steps():
    wild = lambda state, step: np.array([3.0 if step % 2 else -0.5], np.float32)
    steps, rewards = stream().take(wild, 6)
    np.testing.assert_array_equal(steps.action[:, 0], [-0.5, 1.0] * 3)  # clipped, as executed
    np.testing.assert_allclose(rewards, steps.next_state[:, 0], rtol=1e-6)


def test_a_time_limit_is_not_terminal():
    steps, _ = stream(time_limit=4).take(still, 12)
    assert not steps.terminal.any()
    joined = np.asarray(steps.next_state[:-1] == steps.state[1:]).all(1)
    assert np.flatnonzero(~joined).tolist() == [3, 7]


def test_an_end_is_terminal_and_the_last_state_is_kept():
    steps, _ = stream().take(lambda *_: np.array([1.0], np.float32), 12)  # 2.5 forward
    ended = np.asarray(steps.terminal)
    assert 1 < ended.sum() < 12
    np.testing.assert_array_equal(ended, np.asarray(steps.next_state[:, 0]) >= LIMIT)


def test_the_name_seeds_the_first_reset():
    first = lambda name: np.asarray(
        Stream(counting("box"), action_space(counting("box").action_space), name)
        .take(still, 1)
        .transition.state
    )
    assert first((1, 2)) == pytest.approx(first((1, 2)))
    assert (first((1, 2)) != first((1, 3))).any()
