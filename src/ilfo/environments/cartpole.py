"""CartPole with noisy dynamics."""

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from ilfo.environments.endings import cartpole_ends


class StochasticCartPole(CartPoleEnv):
    """CartPole with Gaussian noise added to all four dimensions after every step.

    The noise comes from the environment's own generator. Termination is decided after adding it.
    """

    def __init__(self, noise: float = 0.03, render_mode: str | None = None):
        super().__init__(render_mode=render_mode)
        self.noise = noise

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        *_, info = super().step(action)
        moved = np.asarray(self.state) + self.noise * self.np_random.standard_normal(4)
        observation = moved.astype(np.float32)
        ended = bool(cartpole_ends(observation))
        self.state = moved
        self.steps_beyond_terminated = 0 if ended else None  # type: ignore[assignment]
        return observation, 1.0, ended, False, info
