"""Interface of forward dynamics models.

Shapes: S states.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ilfo.common.buffer import Buffer
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Log, Transition


class AbstractModel(eqx.Module):
    """A fitted model P̂(·|s, a). Actions are already clipped to the action space."""

    @property
    def members(self) -> int:
        """Number of ensemble members; 1 for a single model."""
        return 1

    def member(self, index: Int[Array, ""]) -> "AbstractModel":
        """One ensemble member as a model of its own. An imagined trajectory follows one member."""
        return self

    @abc.abstractmethod
    def sample(self, state: Float[Array, " S"], action: Array, *, key: Array) -> Float[Array, " S"]:
        """A random next state; an ensemble draws one of its members first."""

    @abc.abstractmethod
    def mean(self, state: Float[Array, " S"], action: Array) -> Float[Array, " S"]:
        """The expected next state."""

    @abc.abstractmethod
    def uncertainty(self, state: Float[Array, " S"], action: Array) -> Float[Array, ""]:
        """σ(s, a) ≥ 0: uncertainty about this step, given the data so far."""


class Calibrated(AbstractModel):
    """A model whose uncertainty bounds its error (paper, Assumption 2): with probability 1 - δ,

        ‖P̂(·|s, a) − P*(·|s, a)‖₁ ≤ min(σ(s, a), 2)    for every step and after every fit.

    The bonus of the paper's theorem needs it. Each implementation states its assumptions.
    """

    def width(self, state: Float[Array, " S"], action: Array) -> Float[Array, ""]:
        """min(σ, 2): the L1 distance of two distributions is at most 2."""
        return jnp.minimum(self.uncertainty(state, action), 2.0)


def gaussian_l1(shift: Float[Array, " S"], noise: Float[Array, ""] | float) -> Float[Array, ""]:
    """‖N(μ, σ²I) − N(μ + shift, σ²I)‖₁ = 2 erf(‖shift‖ / (√8 σ)), twice the total variation.

    The paper's bound, ‖shift‖/σ, is at least √(π/2) times as large.
    """
    return 2 * jax.scipy.special.erf(jnp.linalg.norm(shift) / (jnp.sqrt(8.0) * noise))


class AbstractDynamics(eqx.Module):
    """Hyper-parameters of a model, and how it is fitted.

    `init` and `fit` return a state: a pytree with a field `model`, the fitted `AbstractModel`.
    """

    def check_states(self, states: np.ndarray) -> None:
        """Raise ValueError if the model cannot be used with these demonstrated states (n, S)."""

    @abc.abstractmethod
    def init(self, state_dim: int, actions: ActionSpace, *, key: Array) -> Any:
        """The state before any data."""

    @abc.abstractmethod
    def fit(self, state: Any, new: Transition, buffer: Buffer, *, key: Array) -> tuple[Any, Log]:
        """Fit to the replay buffer, which already contains the new transitions.

        Returns the new state and a log with at least `model_loss`."""


class CalibratedDynamics(AbstractDynamics):
    """Hyper-parameters of a model that is `Calibrated`."""
