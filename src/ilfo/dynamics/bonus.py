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

    b is 0 where σ is not finite.
    """

    limit: Float[Array, ""]

    def __call__(self, uncertainty: Float[Array, "*n"]) -> Float[Array, "*n"]:
        known = jnp.isfinite(uncertainty)
        return jnp.minimum(1.0, jnp.where(known, uncertainty, 0.0) / self.limit)


class AbstractBonus(eqx.Module):
    """How the bonus is computed from a model's uncertainty."""

    def check(self, dynamics: AbstractDynamics) -> None:
        """Raise ValueError if the bonus cannot be used with these dynamics."""
        return None

    @abc.abstractmethod
    def fit(self, model: AbstractModel, buffer: Buffer) -> FittedBonus:
        """The bonus for the model and the replay buffer of this iteration."""


class BufferNormalised(AbstractBonus):
    """Uncertainty divided by the largest uncertainty over the replay buffer."""

    def fit(self, model, buffer):
        seen = buffer.recent.items
        uncertainty = jax.vmap(model.uncertainty)(seen.state, seen.action)
        counts = buffer.recent.valid & jnp.isfinite(uncertainty)
        largest = jnp.max(jnp.where(counts, uncertainty, 0.0))
        return FittedBonus(jnp.maximum(largest, 1e-12))


class CalibratedBonus(AbstractBonus):
    """The theorem's bonus H·min(σ, 2), divided by 2H so that it lies in [0, 1] like the others.

    Only for `CalibratedDynamics`. λ = 2H/(1 + 2H) gives the bonus of the theorem.
    """

    def check(self, dynamics):
        if not isinstance(dynamics, CalibratedDynamics):
            raise ValueError(
                f"CalibratedBonus needs dynamics whose uncertainty bounds the model error, but "
                f"{type(dynamics).__name__} does not promise that; use KNRDynamics, GPDynamics, "
                "TabularDynamics or FiniteDynamics"
            )

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(2.0, jnp.float32))


class NoBonus(AbstractBonus):
    """No bonus (ablation)."""

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(jnp.inf))
