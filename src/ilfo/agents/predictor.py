"""Actions for whoever asks, with the signature that Stable-Baselines3's users know."""

from typing import Any

import numpy as np

from ilfo.agents.problem import Problem
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy


class Predictor:
    """A single policy in the units of its environment."""

    def __init__(self, policy: AbstractPolicy, problem: Problem):
        self._host, self._problem = HostPolicy.single(policy), problem

    def __call__(
        self, observation: Any, generator: np.random.Generator, deterministic: bool
    ) -> np.ndarray:
        """An action for one observation, or one for each of a batch."""
        rows, shape = np.asarray(observation, np.float32), self._problem.observation_shape
        single = rows.shape == shape
        if not single and rows.shape[1:] != shape:
            raise ValueError(
                f"the observation has shape {rows.shape}, but must have {shape}, or one more "
                "axis in front for a batch"
            )
        rows = rows.reshape(1, -1, self._problem.state_dim)
        if deterministic:
            drawn = self._host.mode(rows)[0]
        else:
            noise = self._host.draw_noise(generator, rows.shape[:2])
            drawn = self._host.sample(rows, noise)[0]
        executed = np.stack(self._problem.actions.to_environment(drawn))
        return executed[0] if single else executed
