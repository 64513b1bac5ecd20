"""Random seeds for environments and host-side generators, and named JAX keys."""

import itertools
import operator
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array

MOST = 10_000
"""Seeds of one agent."""


class Purpose:
    """What a random stream is for; part of its seed, so that no two purposes share one."""

    COLLECT, ACT, EVALUATE, RECORD, PREDICT, CHOOSE = range(6)


def stream_seed(*parts: int) -> int:
    """A seed derived from numbers that say what it is for: (seed, purpose, iteration, stream)."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def named_keys(key: Array, *names: str) -> dict[str, Array]:
    """One independent key for each name."""
    return dict(zip(names, jax.random.split(key, len(names)), strict=True))


def seed_numbers(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds 0 to `seeds` - 1 for a count, or the given seeds, checked."""
    given = range(seeds) if isinstance(seeds, int) else seeds
    try:
        numbers = tuple(map(operator.index, itertools.islice(given, MOST + 1)))
    except TypeError:
        numbers = ()
    if (
        not 0 < len(numbers) <= MOST
        or len(set(numbers)) < len(numbers)
        or not 0 <= min(numbers) <= max(numbers) < 2**32
    ):
        raise ValueError(
            f"seeds is {seeds}, but must be a positive count or distinct integers in [0, 2**32), "
            f"at most {MOST}"
        )
    return numbers
