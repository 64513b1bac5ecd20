"""Exploration bonus b(s, a): a function of the model's uncertainty σ(s, a).

Paper, appendix 'Design of Bonus Function': b = min(1, δ/δ_D), where δ is the disagreement of the
members and δ_D its maximum over the replay buffer. The weight λ is applied once, in the cost.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.buffer import Buffer
from ilfo.dynamics.base import AbstractDynamics, AbstractModel, CalibratedDynamics


class FittedBonus(eqx.Module):
    """b(σ) = min(1, σ / limit).

    Where a model has no answer (σ is not finite) there is nothing to explore: b is 0.
    """

    limit: Float[Array, ""]

    def __call__(self, uncertainty: Float[Array, "*n"]) -> Float[Array, "*n"]:
        known = jnp.isfinite(uncertainty)
        return jnp.minimum(1.0, jnp.where(known, uncertainty, 0.0) / self.limit)


class AbstractBonus(eqx.Module):
    def check(self, dynamics: AbstractDynamics) -> None:
        """An error where the dynamics' uncertainty is not what this bonus is a function of."""
        return None

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


class CalibratedBonus(AbstractBonus):
    """The theorem's bonus H·min(σ, 2), divided by 2H so that it lies in [0, 1] like the others.

    Only for models that are calibrated. λ = 2H/(1 + 2H) gives it the theorem's size.
    """

    def check(self, dynamics):
        if not isinstance(dynamics, CalibratedDynamics):
            raise ValueError(
                f"CalibratedBonus needs dynamics whose uncertainty bounds the error, which "
                f"{type(dynamics).__name__} does not promise; KNRDynamics does"
            )

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(2.0, jnp.float32))


class NoBonus(AbstractBonus):
    """The ablation: nothing is worth exploring."""

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(jnp.inf))
