"""Dict and Tuple spaces as vectors, in the order in which Gymnasium flattens them.

A part of such a space is named by the keys that lead to it, with a dot between them; an item of a
Tuple is `item_0`, `item_1` and so on. A part of several numbers has them as `part.0`, `part.1`.
"""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces.utils import flatdim, flatten

ITEM = "item_{}"
"""Name of an item of a Tuple."""


def is_composite(space: gym.Space) -> bool:
    """Whether a space has parts, and becomes a vector of fixed length when it is flattened."""
    return isinstance(space, gym.spaces.Dict | gym.spaces.Tuple) and space.is_np_flattenable


def children(space: gym.Space, item: str = ITEM) -> list[tuple[str, gym.Space]]:
    """The parts of a space with their names; none if it has none."""
    if isinstance(space, gym.spaces.Dict):
        return list(space.spaces.items())
    if isinstance(space, gym.spaces.Tuple):
        return [(item.format(index), part) for index, part in enumerate(space.spaces)]
    return []


def parts(space: gym.Space) -> dict[str, list[int]]:
    """The numbers of the dimensions of each part, large parts and those inside them."""
    found: dict[str, list[int]] = {}
    for name, first, part in _walk(space, "", 0):
        found[name] = list(range(first, first + flatdim(part)))
    return found


def names(space: gym.Space) -> tuple[str, ...] | None:
    """The name of each dimension of the flattened space; None if two would have the same."""
    listed: list[str] = []
    for name, _, part in _walk(space, "", 0):
        size = flatdim(part)
        if not children(part):
            listed += [name] if size == 1 else [f"{name}.{index}" for index in range(size)]
    return tuple(listed) if len(set(listed)) == len(listed) else None


def _walk(space: gym.Space, prefix: str, first: int) -> Iterator[tuple[str, int, gym.Space]]:
    """Every part: its name, its first dimension and its space."""
    for key, part in children(space):
        name = f"{prefix}{key}"
        yield name, first, part
        yield from _walk(part, f"{name}.", first)
        first += flatdim(part)


def flat_rows(space: gym.Space, held: Any, item: str = ITEM) -> np.ndarray:
    """Flattened observations (n, S), from n observations whose parts are stored apart.

    `held` is an array of n observations, or maps the names of parts to what is held of them, where
    `item` is the name of an item of a Tuple.
    """
    inner = children(space, item)
    if inner:
        return np.concatenate([flat_rows(part, held[name], item) for name, part in inner], axis=1)
    rows = np.asarray(held)
    if isinstance(space, gym.spaces.Box):
        return rows.reshape(len(rows), -1)
    return np.stack([np.asarray(flatten(space, row)) for row in rows])
