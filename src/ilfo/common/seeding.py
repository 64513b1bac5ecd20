"""Where random numbers come from: seeds of the host's streams by purpose, JAX keys by name."""

import operator
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array


class Purpose:
    """Namespaces of the random streams, so that no two purposes share a seed."""

    COLLECT, ACT, EVALUATE, RECORD, PREDICT, CHOOSE = range(6)


def stream_seed(*parts: int) -> int:
    """A reset seed from what it is for: (seed, purpose, iteration, stream)."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def named_keys(key: Array, *names: str) -> dict[str, Array]:
    """One independent key for each name."""
    return dict(zip(names, jax.random.split(key, len(names)), strict=True))


def seed_numbers(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds that a count, or a list of numbers, asks for."""
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(map(operator.index, seeds))
    if (
        not numbers
        or len(set(numbers)) < len(numbers)
        or not 0 <= min(numbers) <= max(numbers) < 2**32
    ):
        raise ValueError(
            f"seeds is {seeds}, but must be a positive count or different numbers below 2**32"
        )
    return numbers
