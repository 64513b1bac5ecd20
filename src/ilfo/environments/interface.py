"""Environments with the interface of old versions of Gym: saying so, where they fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym

STEP = "observation, reward, terminated, truncated, info"


@contextmanager
def explained(environment: gym.Env) -> Iterator[None]:
    """Wraps the first resets and steps. If they fail because the environment has the interface
    from before Gymnasium, the error says so."""
    try:
        yield
    except (ValueError, TypeError) as error:
        complaint = _complaint(environment.unwrapped)
        if complaint is None:
            raise
        name = type(environment.unwrapped).__name__
        raise ValueError(
            f"{name}.{complaint}; this is the interface of old versions of Gym, so change it, or "
            "wrap the environment (see shimmy.GymV21CompatibilityV0)"
        ) from error


def _complaint(environment: gym.Env) -> str | None:
    """What is old about the interface; None if nothing is."""
    try:
        first: Any = environment.reset(seed=0)
    except TypeError as error:
        return "reset takes no seed, but must" if "seed" in str(error) else None
    if not isinstance(first, tuple) or len(first) != 2 or not isinstance(first[1], dict):
        return "reset returns no pair, but must return observation, info"
    outcome: Any = environment.step(environment.action_space.sample())
    count = len(outcome) if isinstance(outcome, tuple) else 1
    if count == 5:
        return None
    return f"step returns {count} values, but must return five: {STEP}"
