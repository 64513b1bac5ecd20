"""Share of the demonstrated states that the agent's own experience covers.

A demonstrated state is covered when its nearest visited state is no farther than visited states
are from each other: not beyond the 95 % quantile of their own nearest distances.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common.fitting import shuffled_valid
from ilfo.common.types import Normaliser

SIZE = 1000
"""States of either kind that are compared."""
QUANTILE = 0.95


def covered_share(
    visited: Float[Array, "n S"],
    valid: Bool[Array, " n"],
    demonstrated: Float[Array, "m S"],
    *,
    key: Array,
) -> Float[Array, ""]:
    """Share of the demonstrated states that are covered, in units of the visited ones' spread."""
    order = shuffled_valid(valid, key=key)[:SIZE]
    here = jnp.arange(order.shape[0]) < valid.sum()
    normaliser = Normaliser.fit(visited, valid.astype(jnp.float32))
    own, theirs = normaliser(visited[order]), normaliser(demonstrated[:SIZE])
    itself = jnp.eye(own.shape[0], dtype=bool)
    among = _nearest(own, own, here[None] & ~itself)
    reach = jnp.nanquantile(jnp.where(here & jnp.isfinite(among), among, jnp.nan), QUANTILE)
    return (_nearest(theirs, own, here[None]) <= jnp.nan_to_num(reach)).mean()


def _nearest(points: Array, others: Array, counts: Bool[Array, "..."]) -> Float[Array, " n"]:
    """Distance to the nearest of the others that count."""
    distance = jax.vmap(lambda x: jnp.sqrt(((x - others) ** 2).sum(-1)))(points)
    return jnp.where(counts, distance, jnp.inf).min(1)
