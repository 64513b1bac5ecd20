"""What recordings say of themselves in their metadata: their rate, and which part of the state."""

from typing import Any

EVERY = "states_every"
"""Control steps between two states; recordings without this entry are at the control rate."""
OBSERVED = "observed"
"""Numbers of the state's dimensions that they hold; recordings without this entry hold all."""


def valid_rate(every: Any) -> int:
    """The number of control steps, or ValueError."""
    if not _is_count(every) or every < 1:
        raise ValueError(
            f"{EVERY} is {every!r}, but must be a whole number of control steps, at least 1"
        )
    return every


def valid_dimensions(observed: Any) -> tuple[int, ...] | None:
    """The numbers of the dimensions, or ValueError; None for all."""
    if observed is None:
        return None
    numbers = tuple(observed) if isinstance(observed, list | tuple) else ()
    if not numbers or not all(_is_count(n) and n >= 0 for n in numbers):
        raise ValueError(
            f"{OBSERVED} is {observed!r}, but must be a list of dimensions' numbers, from 0 on"
        )
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{OBSERVED} is {observed!r}, but must not name a dimension twice")
    return numbers


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
