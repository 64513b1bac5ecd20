"""Exploration bonus b(s, a): a function of the model's uncertainty σ(s, a).

Paper, appendix 'Design of Bonus Function': b = min(1, δ/δ_D), where δ is the disagreement of the
members and δ_D its maximum over the replay buffer. The weight λ is applied once, in the cost.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.buffer import Buffer
from ilfo.dynamics.base import AbstractModel


class FittedBonus(eqx.Module):
    """b(σ) = min(1, σ / limit).

    Where a model has no answer (σ is not finite) there is nothing to explore: b is 0.
    """

    limit: Float[Array, ""]

    def __call__(self, uncertainty: Float[Array, "*n"]) -> Float[Array, "*n"]:
        known = jnp.isfinite(uncertainty)
        return jnp.minimum(1.0, jnp.where(known, uncertainty, 0.0) / self.limit)


class AbstractBonus(eqx.Module):
    @abc.abstractmethod
    def fit(self, model: AbstractModel, buffer: Buffer) -> FittedBonus: ...


class BufferNormalised(AbstractBonus):
    """Uncertainty relative to the largest one on the buffer's own transitions."""

    def fit(self, model, buffer):
        seen = buffer.recent.items
        uncertainty = jax.vmap(model.uncertainty)(seen.state, seen.action)
        counts = buffer.recent.valid & jnp.isfinite(uncertainty)
        largest = jnp.max(jnp.where(counts, uncertainty, 0.0))
        return FittedBonus(jnp.maximum(largest, 1e-12))


class NoBonus(AbstractBonus):
    """The ablation: nothing is worth exploring."""

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(jnp.inf))
