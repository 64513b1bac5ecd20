"""What an environment says of its observations: the time between two, and what their parts are."""

import numbers
import re
from collections.abc import Sequence

import gymnasium as gym

from ilfo.common import flattening
from ilfo.common.parsing import separate
from ilfo.common.spaces import state_dim
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Factory, flattened_space

POSITIONS = "positions"
"""Stands for the part `qpos` of a MuJoCo environment's observation."""
NEARLY = 0.01
"""By how much a number of control steps may differ from a whole one."""


def control_step(environment: gym.Env) -> float | None:
    """Seconds between two observations; None if the environment does not say.

    MuJoCo environments and Pendulum have it as `dt`, CartPole as `tau`.
    """
    for name in ("dt", "tau"):
        value = getattr(environment.unwrapped, name, None)
        if isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value) > 0:
            return float(value)
    return None


def steps_per_frame(rate: str, environment: gym.Env) -> int:
    """Control steps between two frames of recordings at that rate, such as `25Hz`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:hz)?\s*", rate, re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"the rate is {rate!r}, but must be a number of frames per second: 25Hz")
    seconds = control_step(environment)
    if seconds is None:
        raise ValueError(
            "this environment does not say how long a control step takes; say how many of them lie "
            "between two recorded states: --every"
        )
    return _whole(1 / (float(match[1]) * seconds), seconds, f"{match[1]} Hz")


def steps_between(apart: float, environment: gym.Env) -> int | None:
    """Control steps in so many seconds; None if the environment does not say how long one takes."""
    seconds = control_step(environment)
    if seconds is None:
        return None
    return _whole(apart / seconds, seconds, f"{1 / apart:.4g} Hz")


def _whole(steps: float, seconds: float, rate: str) -> int:
    if round(steps) < 1 or abs(steps - round(steps)) > NEARLY * steps:
        raise ValueError(
            f"at {rate}, {steps:.3g} control steps of {seconds:g} s lie between two frames, but it "
            "must be a whole number; record or resample at a rate that divides "
            f"{1 / seconds:g} Hz"
        )
    return round(steps)


def dimensions(names: Sequence[str], environment: gym.Env) -> tuple[int, ...]:
    """Numbers of the dimensions that are given by number or by the name of a part, one by one or
    with commas between."""
    flat = flattened_space(environment)
    parts = _parts(environment) if flat is None else _named(flat)
    own, seen = environment.unwrapped.observation_space, environment.observation_space
    known = flat is not None or own.shape == seen.shape
    names = list(separate(names, parts))
    if not known and not all(name.isdecimal() for name in names):
        raise ValueError(
            "a wrapper changes the observations of this environment, so their parts are unknown; "
            "give numbers of dimensions"
        )
    found: list[int] = []
    for name in names:
        part = parts.get("qpos" if name == POSITIONS else name)
        if part is not None:
            found += part
        elif name.isdecimal():
            found.append(int(name))
        else:
            listed = [POSITIONS, *parts] if "qpos" in parts else list(parts)
            raise ValueError(
                f"unknown part of the observation: {name!r}; give numbers of dimensions"
                + (f", or {', '.join(listed)}" if listed else "; this environment names no parts")
            )
    return tuple(found)


def columns(name: str, demonstrations: Demonstrations, environment: gym.Env) -> list[int]:
    """Places in the rows of recordings of a part of that environment's observation."""
    dim, places = state_dim(environment.observation_space), dimensions([name], environment)
    held = list(demonstrations.observed or range(demonstrations.dim))
    if demonstrations.observed is None and len(held) != dim:
        raise ValueError(
            f"{name!r} cannot be found: rows of the recordings have {len(held)} numbers, and "
            f"observations of the environment {dim}; give numbers"
        )
    missing = [place for place in places if place not in held]
    if missing:
        raise ValueError(
            f"{name!r} stands for the dimensions {list(places)} of the state, but the recordings "
            f"hold {held}"
        )
    return [held.index(place) for place in places]


def _named(space: gym.Space) -> dict[str, list[int]]:
    """Dimensions by the name of a part of a Dict or Tuple, and by their own."""
    single = {name: [number] for number, name in enumerate(flattening.names(space) or ())}
    return flattening.parts(space) | single


def _parts(environment: gym.Env) -> dict[str, list[int]]:
    """Dimensions by the name of their part, as MuJoCo environments tell them."""
    structure = getattr(environment.unwrapped, "observation_structure", None)
    if not isinstance(structure, dict):
        return {}
    parts, first = dict[str, list[int]](), 0
    for name, size in structure.items():
        if name == "skipped_qpos" or not size:
            continue
        parts[name] = list(range(first, first + size))
        first += size
    return parts


def dimension_names(demonstrations: Demonstrations, factory: Factory) -> tuple[str, ...] | None:
    """What the dimensions of the recordings are called, there or in the environment; None if they
    have no names."""
    if demonstrations.names is not None or factory.names is None:
        return demonstrations.names
    if demonstrations.observed is not None:
        return tuple(factory.names[number] for number in demonstrations.observed)
    return factory.names if demonstrations.dim == len(factory.names) else None


def dimension_labels(demonstrations: Demonstrations, factory: Factory) -> list[str]:
    """The same for the axes of figures: where there are no names, their places in the state."""
    names = dimension_names(demonstrations, factory)
    kept = demonstrations.observed or range(demonstrations.dim)
    return [f"state {place}" for place in kept] if names is None else list(names)
