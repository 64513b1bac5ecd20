"""What every dynamics model promises."""

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
    """A fitted model P̂(·|s, a); actions are executed ones."""

    @property
    def members(self) -> int:
        """How many hypotheses about the dynamics the model holds."""
        return 1

    def member(self, index: Int[Array, ""]) -> "AbstractModel":
        """One hypothesis as a model of its own: what a whole imagined trajectory follows."""
        return self

    @abc.abstractmethod
    def sample(self, state: Float[Array, " S"], action: Array, *, key: Array) -> Float[Array, " S"]:
        """A next state; of several hypotheses, by one that is drawn."""

    @abc.abstractmethod
    def mean(self, state: Float[Array, " S"], action: Array) -> Float[Array, " S"]:
        """The expected next state."""

    @abc.abstractmethod
    def uncertainty(self, state: Float[Array, " S"], action: Array) -> Float[Array, ""]:
        """σ(s, a) ≥ 0: how little the data so far say about this step."""


class Calibrated(AbstractModel):
    """A model whose uncertainty bounds its error (paper, Assumption 2): with probability 1 - δ,

        ‖P̂(·|s, a) − P*(·|s, a)‖₁ ≤ min(σ(s, a), 2)    for every step and after every fit.

    The theorem's bonus needs it. Each implementation says under which assumptions it holds.
    """

    def width(self, state: Float[Array, " S"], action: Array) -> Float[Array, ""]:
        """min(σ, 2): no two distributions are further apart than 2."""
        return jnp.minimum(self.uncertainty(state, action), 2.0)


def gaussian_l1(shift: Float[Array, " S"], noise: Float[Array, ""] | float) -> Float[Array, ""]:
    """‖N(μ, σ²I) − N(μ + shift, σ²I)‖₁ = 2 erf(‖shift‖ / (√8 σ)), twice the total variation.

    The paper's bound, ‖shift‖/σ, is at least √(π/2) times as large.
    """
    return 2 * jax.scipy.special.erf(jnp.linalg.norm(shift) / (jnp.sqrt(8.0) * noise))


class AbstractDynamics(eqx.Module):
    """Hyper-parameters of a model and how it is fitted.

    The state that `init` and `fit` pass along is a pytree with a field `model`.
    """

    def check_states(self, states: np.ndarray) -> None:
        """An error where the model cannot serve such demonstrated states (n, S)."""

    @abc.abstractmethod
    def init(self, state_dim: int, actions: ActionSpace, *, key: Array) -> Any: ...

    @abc.abstractmethod
    def fit(self, state: Any, new: Transition, buffer: Buffer, *, key: Array) -> tuple[Any, Log]:
        """`buffer` already contains `new`. The log has at least `model_loss`."""


class CalibratedDynamics(AbstractDynamics):
    """Dynamics whose models are `Calibrated`."""
