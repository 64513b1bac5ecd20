"""What recordings say of themselves in their metadata: their rate, which part of the state they
hold, what its dimensions are called, whether they are clips, and returns to compare with."""

import math
import numbers
from collections.abc import Mapping
from typing import Any

EVERY = "states_every"
"""Control steps between two states; recordings without this entry are at the control rate."""
SECONDS = "states_seconds"
"""Seconds between two states; with the environment's own time step they become control steps."""
OBSERVED = "observed"
"""Numbers of the state's dimensions that they hold; recordings without this entry hold all."""
NAMES = "names"
"""Names of the dimensions that they hold; recordings without this entry have none."""
CLIPS, CLIP_STATES = "clips", "clip_states"
"""Whether trajectories are clips, which begin anywhere, not at a reset; and how long clips are that
were cut here. Recordings without these entries are of whole episodes, from their resets on."""
EXPERT_RETURN, RANDOM_RETURN = "expert_return", "random_return"
"""Mean returns of the expert and of a random policy; scores are computed from them."""


def check_statements(metadata: Mapping[str, Any]) -> None:
    """Raise ValueError if an entry that is used later is not what it must be."""
    valid_rate(metadata.get(EVERY, 1))
    valid_seconds(metadata.get(SECONDS))
    valid_dimensions(metadata.get(OBSERVED))
    valid_names(metadata.get(NAMES))
    are_clips(metadata)
    for name in (EXPERT_RETURN, RANDOM_RETURN):
        valid_return(name, metadata.get(name))


def valid_return(name: str, value: Any) -> float | None:
    """The return as a float, or ValueError; None if it is not known."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    shown = repr(value) if len(str(value)) <= 40 else f"{str(value)[:40]}..."
    raise ValueError(f"{name} is {shown}, but must be a finite number")


def valid_rate(every: Any) -> int:
    """The number of control steps, or ValueError."""
    if not is_count(every) or every < 1:
        raise ValueError(
            f"{EVERY} is {every!r}, but must be a whole number of control steps, at least 1"
        )
    return every


def valid_seconds(seconds: Any) -> float | None:
    """The seconds between two states, or ValueError; None if they are not known."""
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if seconds is not None and not (number and 0 < seconds < math.inf):
        raise ValueError(f"{SECONDS} is {seconds!r}, but must be a number of seconds above 0")
    return seconds


def are_clips(metadata: Mapping[str, Any]) -> bool:
    """Whether trajectories may begin anywhere, or ValueError."""
    clips = metadata.get(CLIPS, CLIP_STATES in metadata)
    if not isinstance(clips, bool):
        raise ValueError(f"{CLIPS} is {clips!r}, but must be true or false")
    return clips


def valid_dimensions(observed: Any) -> tuple[int, ...] | None:
    """The numbers of the dimensions, or ValueError; None for all."""
    if observed is None:
        return None
    numbers = tuple(observed) if isinstance(observed, list | tuple) else ()
    if not numbers or not all(is_count(n) and n >= 0 for n in numbers):
        raise ValueError(
            f"{OBSERVED} is {observed!r}, but must be a list of dimensions' numbers, from 0 on"
        )
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{OBSERVED} is {observed!r}, but must not name a dimension twice")
    return numbers


def valid_names(names: Any) -> tuple[str, ...] | None:
    """The names of the dimensions, or ValueError; None if they have none."""
    if names is None:
        return None
    found = tuple(names) if isinstance(names, list | tuple) else ()
    if not found or not all(isinstance(name, str) and name for name in found):
        raise ValueError(f"{NAMES} is {names!r}, but must be a list of names of dimensions")
    if len(set(found)) < len(found):
        raise ValueError(f"{NAMES} is {names!r}, but must not give a name twice")
    return found


def is_count(value: Any) -> bool:
    """Whether it is an integer, Python's or NumPy's."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
