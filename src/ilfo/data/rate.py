"""The rate of recordings: how many control steps lie between two of their states."""

from typing import Any

EVERY = "states_every"
"""Entry of the metadata; recordings without it are at the control rate."""


def valid_rate(every: Any) -> int:
    """The number of control steps, or ValueError."""
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise ValueError(
            f"{EVERY} is {every!r}, but must be a whole number of control steps, at least 1"
        )
    return every
