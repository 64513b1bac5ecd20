"""What every dynamics model promises."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int

from ilfo.buffer import Buffer
from ilfo.environments.spaces import ActionSpace
from ilfo.types import Log, Transition


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


class AbstractDynamics(eqx.Module):
    """Hyper-parameters of a model and how it is fitted.

    The state that `init` and `fit` pass along is a pytree with a field `model`.
    """

    @abc.abstractmethod
    def init(self, state_dim: int, actions: ActionSpace, *, key: Array) -> Any: ...

    @abc.abstractmethod
    def fit(self, state: Any, new: Transition, buffer: Buffer, *, key: Array) -> tuple[Any, Log]:
        """`buffer` already contains `new`. The log has at least `model_loss`."""
