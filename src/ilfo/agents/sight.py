"""What an environment shows in a moment of looking: a few resets, a few steps of random actions."""

import contextlib
from typing import NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.agents.problem import Observed, Problem
from ilfo.environments.factory import Factory
from ilfo.environments.interface import explained
from ilfo.rollouts.stepping import observe, step

RESETS, RANDOM_STEPS = 20, 200
"""How long the environment is looked at."""
LISTED = 6
"""Dimensions that are listed at most."""
LEAST = 0.02
"""Differences below this share of what random actions do mean nothing. A model of the environment
does not predict them, so a dimension that recordings hold constant would drown all others."""


class Sight(NamedTuple):
    """What the environment shows, in the numbers that the recordings hold."""

    resets: np.ndarray
    """Observations after a reset."""
    visited: np.ndarray
    """Those of random actions, resets included."""
    steps: np.ndarray
    """(n, 2, S): observations before and after a random action."""
    names: tuple[str, ...] | None = None
    """What the numbers are called; None if they have no names."""

    @property
    def least_scales(self) -> np.ndarray:
        """(2, S): the smallest scales of observations, and of their changes, that mean anything."""
        changes = self.steps[:, 1] - self.steps[:, 0]
        spread = LEAST * np.stack([self.visited.std(0), changes.std(0)])
        return np.where(np.isfinite(spread), spread, 0).astype(np.float32)

    def label(self, number: int) -> str:
        """A dimension, as words."""
        return str(number) if self.names is None else f"{number} ({self.names[number]})"

    def listed(self, which: np.ndarray) -> str:
        """The dimensions for which it is true, as words."""
        numbers = [self.label(int(number)) for number in np.flatnonzero(which)]
        more = f" and {len(numbers) - LISTED} more" if len(numbers) > LISTED else ""
        return f"dimension{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:LISTED])}{more}"


def look(
    factory: Factory, problem: Problem, names: tuple[str, ...] | None = None, seed: int = 0
) -> Sight:
    """Reset the environment and act randomly in it, for a moment. `names` are those of the
    dimensions that the recordings hold."""
    environment = factory.make()
    environment.action_space.seed(seed)
    row = lambda observation: observe(environment, observation)
    with contextlib.closing(environment), explained(environment):
        resets = [row(environment.reset(seed=seed + number)[0]) for number in range(RESETS)]
        visited, steps, over = list(resets), [], False
        for _ in range(RANDOM_STEPS):
            if over:
                visited.append(row(environment.reset()[0]))
            observation, _, ends, stops = step(environment, environment.action_space.sample())
            steps.append((visited[-1], row(observation)))
            visited.append(steps[-1][1])
            over = ends or stops
    h = problem.feature_map
    feature = lambda rows: rows if h is None else np.asarray(jax.vmap(h)(jnp.asarray(rows)))
    pairs = np.stack([feature(np.stack(rows)) for rows in zip(*steps, strict=True)], 1)
    return Sight(feature(np.stack(resets)), feature(np.stack(visited)), pairs, names)


def bounds(space: gym.Space, problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper bounds of the recorded numbers; None where the environment has none."""
    if not isinstance(space, gym.spaces.Box):
        return None
    low, high = space.low.ravel(), space.high.ravel()
    if isinstance(problem.feature_map, Observed):
        kept = list(problem.feature_map.dimensions)
        return low[kept], high[kept]
    return None if problem.feature_map is not None else (low, high)
