"""Experts written by hand, for demonstrations that do something particular."""

from collections.abc import Callable

import gymnasium as gym
import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.experts.sources import play_actor
from ilfo.storage.provenance import versions

Controller = Callable[[np.ndarray], int]


def hold_cart(place: float) -> Controller:
    """CartPole: balance the pole with the cart near `place`, by linear feedback.

    To move the cart right, the pole has to lean right first: all gains have one sign. The error
    in place is bounded so that a far place does not ask for a lean beyond the limit.
    """

    def act(state: np.ndarray) -> int:
        x, speed, angle, turn = state
        error = np.clip(x - place, -0.5, 0.5)
        return int(1.0 * error + 1.6 * speed + 18.0 * angle + 3.5 * turn > 0)

    return act


def swing_up(state: np.ndarray) -> int:
    """MountainCar: always push the way the car is going."""
    return 2 if state[1] >= 0 else 0


def record_scripted(
    environment: gym.Env, act: Controller, *, episodes: int, seed: int
) -> Demonstrations:
    """Whole episodes of a controller; states and returns, no actions."""
    played = list(play_actor(environment, act, episodes=episodes, seed=seed))
    returns = [float(episode.rewards.sum()) for episode in played]
    card = {"seed": seed, "expert_return": float(np.mean(returns)), "versions": versions()}
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=[episode.terminal for episode in played],
        returns=returns,
        metadata=card,
    )
