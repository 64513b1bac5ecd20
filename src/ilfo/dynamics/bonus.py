"""Exploration bonus b(s, a): a function of the model's uncertainty σ(s, a).

Paper, appendix 'Design of Bonus Function': b = min(1, δ/δ_D), where δ is the disagreement of the
members and δ_D its maximum over the replay buffer. One outlier can be 30 times the median, and then
the bonus is near 0 elsewhere; and where all of the buffer is well known, it is 1 everywhere else.
Ours is u/(1 + u) with u = δ/δ_q, where δ_q is a high quantile. λ is applied once, in the cost.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.buffer import Buffer
from ilfo.common.validation import require_share
from ilfo.dynamics.base import AbstractDynamics, AbstractModel, CalibratedDynamics


class FittedBonus(eqx.Module):
    """b(σ) = min(1, u) with u = σ / limit, or u / (1 + u) if it is soft.

    b is 0 where σ is not finite.
    """

    limit: Float[Array, ""]
    soft: bool = False

    def __call__(self, uncertainty: Float[Array, "*n"]) -> Float[Array, "*n"]:
        ratio = jnp.where(jnp.isfinite(uncertainty), uncertainty, 0.0) / self.limit
        # for a ratio so large that it is infinite, 1 - 1/(1 + u) is 1 and u/(1 + u) no number
        return 1 - 1 / (1 + ratio) if self.soft else jnp.minimum(1.0, ratio)


class AbstractBonus(eqx.Module):
    """How the bonus is computed from a model's uncertainty."""

    def check(self, dynamics: AbstractDynamics) -> None:
        """Raise ValueError if the bonus cannot be used with these dynamics."""
        return None

    @abc.abstractmethod
    def fit(self, model: AbstractModel, buffer: Buffer) -> FittedBonus:
        """The bonus for the model and the replay buffer of this iteration."""


class BufferNormalised(AbstractBonus):
    """Uncertainty divided by a high quantile of the uncertainty over the replay buffer."""

    quantile: float = 0.95
    """Which one; 1 for the maximum, as in the paper."""
    soft: bool = True
    """Approach 1 slowly, so that what is less known than the buffer can still be told apart;
    otherwise the bonus is cut off at 1, as in the paper."""

    def __post_init__(self):
        require_share(self, "quantile")

    def fit(self, model, buffer):
        seen = buffer.recent.items
        uncertainty = jax.vmap(model.uncertainty)(seen.state, seen.action)
        counts = buffer.recent.valid & jnp.isfinite(uncertainty)
        if self.quantile == 1:
            limit = jnp.max(jnp.where(counts, uncertainty, 0.0))
        else:
            known = jnp.where(counts, uncertainty, jnp.nan)
            limit = jnp.nan_to_num(jnp.nanquantile(known, self.quantile))
        return FittedBonus(jnp.maximum(limit, 1e-12), self.soft)


class CalibratedBonus(AbstractBonus):
    """The theorem's bonus H·min(σ, 2), divided by 2H so that it lies in [0, 1] like the others.

    Only for `CalibratedDynamics`. λ = 2H/(1 + 2H) gives the bonus of the theorem.
    """

    def check(self, dynamics):
        if not isinstance(dynamics, CalibratedDynamics):
            raise ValueError(
                f"CalibratedBonus needs dynamics whose uncertainty bounds the model error, which "
                f"{type(dynamics).__name__} does not promise; use KNRDynamics, GPDynamics, "
                "TabularDynamics or FiniteDynamics"
            )

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(2.0, jnp.float32))


class NoBonus(AbstractBonus):
    """No bonus (ablation)."""

    def fit(self, model, buffer):
        return FittedBonus(jnp.asarray(jnp.inf))
