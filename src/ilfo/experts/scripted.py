"""Experts written by hand, for demonstrations of a particular behaviour."""

import gymnasium as gym
import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.experts.actors import Actor, play_actor
from ilfo.storage.provenance import versions


def hold_cart(place: float) -> Actor:
    """A linear controller for CartPole that balances the pole with the cart near x = `place`.

    To move the cart right, the pole has to lean right first, so all gains have the same sign. The
    error in position is clipped, so that a distant `place` does not require too large an angle.
    """

    def act(state: np.ndarray) -> int:
        x, speed, angle, turn = state
        error = np.clip(x - place, -0.5, 0.5)
        return int(1.0 * error + 1.6 * speed + 18.0 * angle + 3.5 * turn > 0)

    return act


def swing_up(state: np.ndarray) -> int:
    """A controller for MountainCar that always pushes in the direction of the velocity."""
    return 2 if state[1] >= 0 else 0


def record_scripted(
    environment: gym.Env, act: Actor, *, episodes: int, seed: int
) -> Demonstrations:
    """Demonstrations of a controller: states and returns, no actions."""
    played = list(play_actor(environment, act, episodes=episodes, seed=seed))
    returns = [float(episode.rewards.sum()) for episode in played]
    metadata = {"seed": seed, "expert_return": float(np.mean(returns)), "versions": versions()}
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=[episode.terminal for episode in played],
        returns=returns,
        metadata=metadata,
    )
