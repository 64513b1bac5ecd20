"""Replay: the newest steps, and draws from the filled part."""

import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.spaces import BoxActions
from ilfo.common.types import Transition
from ilfo.planners.replay import Experience, draw_slots, empty_replay, push, steps_at

ACTIONS = BoxActions((-1.0,), (1.0,), (1,))


def numbered(*numbers: int) -> Experience:
    """Steps that can be told apart in every field."""
    column = jnp.asarray(numbers, jnp.float32)[:, None]
    terminal = jnp.asarray(numbers) % 2 == 1
    return Experience(Transition(column, -column, column + 1, terminal), 10 * column[:, 0])


def held(replay) -> list[float]:
    return sorted(np.asarray(replay.items.reward[: int(replay.count)]).tolist())


def test_the_oldest_steps_give_way():
    replay = push(empty_replay(1, ACTIONS, 4), numbered(1, 2, 3))
    assert held(replay) == [10, 20, 30]
    assert held(push(replay, numbered(4, 5))) == [20, 30, 40, 50]


def test_the_fields_of_a_step_stay_together():
    replay = push(empty_replay(1, ACTIONS, 4), numbered(*range(7)))
    slots = draw_slots(replay, 3, 50, key=jax.random.key(0))
    steps, reward = steps_at(replay, slots)
    assert reward.shape == (3, 50)
    assert set(np.unique(reward).tolist()) == {30, 40, 50, 60}
    number = reward / 10
    np.testing.assert_array_equal(steps.state[..., 0], number)
    np.testing.assert_array_equal(steps.action[..., 0], -number)
    np.testing.assert_array_equal(steps.next_state[..., 0], number + 1)
    np.testing.assert_array_equal(steps.terminal, number % 2 == 1)


def test_empty_slots_are_never_drawn():
    replay = push(empty_replay(1, ACTIONS, 1000), numbered(1, 2))
    slots = draw_slots(replay, 5, 100, key=jax.random.key(0))
    assert set(np.unique(slots).tolist()) == {0, 1}
