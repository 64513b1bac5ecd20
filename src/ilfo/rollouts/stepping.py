"""Steps of any Gymnasium environment, with what it returns checked.

Environments of users' own return scalars where a vector was declared, or text where a bool belongs.
NumPy would repeat the scalar for every dimension, and Python takes the text "False" for true.
"""

import traceback
from typing import Any

import gymnasium as gym
import numpy as np

EXPECTED = "expected (observation, reward, terminated, truncated, info)"


class EnvironmentFault(ValueError):
    """An environment returned something that Gymnasium does not allow."""


def step(environment: gym.Env, action: Any) -> tuple[Any, Any, bool, bool]:
    """Observation, reward, terminated and truncated."""
    try:
        result = environment.step(action)
    except (TypeError, ValueError) as error:
        if not _unpacked_by_a_wrapper(error):
            raise
        said = f"something else from step ({error})"
        raise EnvironmentFault(f"{name_of(environment)} returned {said}, {EXPECTED}") from error
    except RecursionError as error:
        raise EnvironmentFault(
            f"{name_of(environment)} calls itself too often in step ({error}); let its recursion "
            "end"
        ) from error
    if not isinstance(result, tuple) or len(result) != 5:
        said = f"{_shown(result)} from step"
        raise EnvironmentFault(f"{name_of(environment)} returned {said}, {EXPECTED}")
    observation, reward, ends, stops, _ = result
    if type(ends) is not bool:
        ends = _flag(environment, "terminated", ends)
    if type(stops) is not bool:
        stops = _flag(environment, "truncated", stops)
    return observation, reward, ends, stops


def _unpacked_by_a_wrapper(error: Exception) -> bool:
    """Whether a wrapper of Gymnasium, such as its time limit, could not take an answer apart."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    module = frame.f_globals.get("__name__", "")
    return module.startswith("gymnasium.wrappers.") and "unpack" in str(error)


def observe(environment: gym.Env, observation: Any) -> np.ndarray:
    """An observation as a flat float32 state; always a copy."""
    expected = environment.observation_space.shape
    try:
        state = np.array(observation, np.float32)
    except (TypeError, ValueError):
        state = None
    if state is None or state.shape != expected:
        raise EnvironmentFault(
            f"{name_of(environment)} returned the observation {_shown(observation)}, expected "
            f"numbers of shape {expected}, as its observation space says"
        )
    return state.ravel()


def _flag(environment: gym.Env, name: str, value: Any) -> bool:
    if isinstance(value, np.bool_):
        return bool(value)
    array = np.asarray(value)
    if array.shape == () and array.dtype.kind in "biu" and array in (0, 1):
        return bool(array)
    raise EnvironmentFault(
        f"{name_of(environment)} returned {name}={_shown(value)} from step, expected True or False"
    )


def name_of(environment: gym.Env) -> str:
    return environment.spec.id if environment.spec else type(environment.unwrapped).__name__


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
