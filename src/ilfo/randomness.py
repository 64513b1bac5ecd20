"""Where random numbers come from: seeds of the host's streams by purpose, JAX keys by name."""

import jax
import numpy as np
from jaxtyping import Array


class Purpose:
    """Namespaces of the random streams, so that no two purposes share a seed."""

    COLLECT, ACT, EVALUATE, RECORD, PREDICT = range(5)


def stream_seed(*parts: int) -> int:
    """A reset seed from what it is for: (seed, purpose, iteration, stream)."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def named_keys(key: Array, *names: str) -> dict[str, Array]:
    """One independent key for each name."""
    return dict(zip(names, jax.random.split(key, len(names)), strict=True))
