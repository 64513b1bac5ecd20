"""Errors of models whose mistakes are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions
from ilfo.dynamics.base import AbstractModel
from ilfo.rollouts.episodes import Episode
from ilfo.rollouts.model_error import prediction_errors

ACTIONS = BoxActions((-2.0,), (2.0,), (1,))


class Pushed(AbstractModel):
    """Both numbers of the state move by the action, and by a mistake in every step."""

    mistake: float = 0.0

    def sample(self, state, action, *, key):
        return self.mean(state, action)

    def mean(self, state, action):
        return state + jnp.array([1.0, 10.0]) * (action + self.mistake)

    def uncertainty(self, state, action):
        return jnp.zeros(())


def episode(length: int, seed: int) -> Episode:
    """Of the model without a mistake; its actions are in the environment's units."""
    drawn = np.random.default_rng(seed).uniform(-1, 1, (length, 1)).astype(np.float32)
    states = np.concatenate([np.zeros((1, 2)), (drawn * [1.0, 10.0]).cumsum(0)])
    return Episode(states.astype(np.float32), 2 * drawn, np.zeros(length), False)


EPISODES = [episode(60, 0), episode(30, 1)]
DEVIATION = np.concatenate([episode.states for episode in EPISODES]).std(0)


def test_a_perfect_model_makes_no_error():
    for row in prediction_errors(Pushed(), ACTIONS, EPISODES):
        assert row.error < 1e-5
        assert row.unchanged > 0.1


@pytest.mark.parametrize("steps", [1, 7, 50])
def test_mistakes_add_up_and_both_numbers_count_on_their_own_scale(steps):
    (row,) = prediction_errors(Pushed(0.01), ACTIONS, EPISODES, (steps,))
    assert row.steps == steps
    expected = np.sqrt(((steps * 0.01 * np.array([1.0, 10.0]) / DEVIATION) ** 2).mean())
    np.testing.assert_allclose(row.error, expected, rtol=1e-3)


def test_who_expects_no_change_errs_by_what_the_states_moved():
    (row,) = prediction_errors(Pushed(), ACTIONS, EPISODES[1:], (30,))
    states = EPISODES[1].states
    moved = (states[30] - states[0]) / states.std(0)
    np.testing.assert_allclose(row.unchanged, np.sqrt((moved**2).mean()), rtol=1e-4)


def test_no_further_than_the_episodes_go():
    assert [row.steps for row in prediction_errors(Pushed(), ACTIONS, EPISODES[1:])] == [1, 5, 20]


def test_a_prediction_that_runs_away_does_not_hide_the_others():
    astray = Episode(EPISODES[0].states[:12].copy(), EPISODES[0].actions[:11], np.zeros(11), False)
    astray.states[11] += 1e4  # the model, starting from the state before, is wrong by as much
    (alone,) = prediction_errors(Pushed(), ACTIONS, [astray], (11,))
    assert alone.error > 1
    (row,) = prediction_errors(Pushed(), ACTIONS, [*EPISODES, astray], (1,))
    assert row.error < 1e-2
