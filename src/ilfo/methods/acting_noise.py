"""How much of their noise policy and clone act with: all of it, or less. Ours, not the paper's.

The clone's noise is fitted to how inferred actions scatter. How much of that the expert's states
show is another question: it may be what the expert does, or what the inverse models do not know,
and the clone may bear less of it than the expert does. So a few factors κ of the standard deviation
are tried, and the world is the judge. With d the distance from the expert of all that acted in an
iteration with factor i,

    v_i ← (v_i + d²)/2,  and d² the first time
    v_j ← 0.8 · v_j · min(1, v_i after / v_i before)    for the others

because what is gained with one factor is taken to be gained with the others, and what has not acted
for long is tried again. The next factor has the smallest v. One that has not acted counts as 0, so
it is tried, with two exceptions: others than the one in use count for at least twice the squared
noise floor, because below that nothing is to be gained; and the forward model has a veto, by the
distances that the clone has in it with each factor.
"""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

FADE = 0.8
"""What the squared distance of a factor that is not in use is multiplied by in every iteration."""
ENOUGH = 2.0
"""Multiple of the squared noise floor below which no other factor is tried."""
VETO = 2.0
"""A factor is not tried if its squared distance in the model is this multiple of that of the factor
in use."""


class ActingNoise(eqx.Module):
    """What the world has said of each factor."""

    squared: Float[Array, " k"]
    """Squared distance of what acted with it, a moving average; 0 before anything has."""
    index: Int[Array, ""]
    """The factor in use."""

    @staticmethod
    def untried(factors: int) -> "ActingNoise":
        """The first factor is in use."""
        return ActingNoise(jnp.zeros(factors), jnp.zeros((), jnp.int32))

    def after(self, squared: Float[Array, ""]) -> "ActingNoise":
        """With the squared distance of what acted with the factor in use."""
        before = self.squared[self.index]
        now = jnp.where(before > 0, (before + squared) / 2, squared)
        gain = jnp.where(before > 0, jnp.minimum(now / jnp.maximum(before, 1e-12), 1.0), 1.0)
        return replace(self, squared=(FADE * gain * self.squared).at[self.index].set(now))

    def next(self, imagined: Float[Array, " k"], floor: Float[Array, ""]) -> "ActingNoise":
        """With the factor to act with next; `imagined` are the squared distances in the model."""
        in_use = jnp.arange(self.squared.size) == self.index
        least = jnp.where(in_use, 0.0, ENOUGH * floor**2)
        vetoed = imagined > VETO * imagined[self.index]
        worth = jnp.where(vetoed, jnp.inf, jnp.maximum(self.squared, least))
        return replace(self, index=jnp.argmin(worth).astype(jnp.int32))
