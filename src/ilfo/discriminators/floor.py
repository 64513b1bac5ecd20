"""The noise floor: the distance that the expert has from itself.

    floor²(n) = scatter · (1/n + 1/N)

is the expected squared distance between n new episodes of the expert and its N demonstrations.
`scatter` is the variance of an episode's mean features, summed over the features. It is estimated
by leaving demonstrations out: they are to the others what new episodes are to all of them.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

FOLDS = 20
"""Times that demonstrations are left out; one at a time if there are no more than this."""


class Floor(eqx.Module):
    """The expert's own distance, by the number of episodes in the learner's estimate."""

    scatter: Float[Array, ""]
    """0 for a single demonstration, which cannot show it."""
    demonstrations: Float[Array, ""]

    def __call__(self, episodes: Float[Array, ""] | float) -> Float[Array, ""]:
        return jnp.sqrt(self.scatter * (1 / episodes + 1 / self.demonstrations))


def by_leaving_out(
    present: Bool[Array, " m"],
    squared_distance: Callable[[Bool[Array, " m"], Bool[Array, " m"]], Float[Array, ""]],
) -> Floor:
    """From the squared distances between the demonstrations left out and the others.

    `present` marks which of m places hold a demonstration, and `squared_distance` gets the marks of
    those left out and of the others.
    """
    number = jnp.cumsum(present) - 1
    folds = jnp.clip(present.sum(), 1, FOLDS)

    def scatter(fold):
        out = present & (number % folds == fold)
        rest = present & ~out
        return squared_distance(out, rest) / (1 / out.sum() + 1 / rest.sum())

    counts = (jnp.arange(FOLDS) < folds) & (folds > 1)
    estimates = jnp.where(counts, jax.lax.map(scatter, jnp.arange(FOLDS)), 0.0)
    total = jnp.nan_to_num(estimates).sum()
    return Floor(total / jnp.maximum(counts.sum(), 1), present.sum().astype(jnp.float32))
