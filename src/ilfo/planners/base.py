"""Interface of planners: an improved policy from a batch of trajectories with costs.

Shapes: N streams, T steps, S states, n = N·T.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common.types import Log, Normaliser
from ilfo.planners.critic import Batch, CriticState
from ilfo.policies.base import AbstractPolicy


class PlannerState(eqx.Module):
    """The policy, its critic, and the state of the policy's optimiser."""

    policy: AbstractPolicy
    critic: CriticState
    optimiser: Any
    """State of the policy's optimiser; None for a planner without one."""

    @property
    def normaliser(self) -> Normaliser:
        """Of the states, for all networks."""
        return self.critic.critic.normaliser

    def rescaled(self, normaliser: Normaliser) -> "PlannerState":
        """The same networks, with another normaliser of the state."""
        scales = lambda p: (p.policy.normaliser, p.critic.critic.normaliser)
        return eqx.tree_at(scales, self, (normaliser, normaliser))


class AbstractPlanner(eqx.Module):
    """Hyper-parameters of a planner, and its update."""

    @property
    def branch_length(self) -> int | None:
        """How long the trajectories of a batch should be, if they should branch off anywhere;
        None for trajectories of a whole horizon."""
        return None

    def for_horizon(self, horizon: int) -> "AbstractPlanner":
        """The planner with what follows from the horizon filled in."""
        return self

    @abc.abstractmethod
    def init(
        self, policy: AbstractPolicy, state_dim: int, normaliser: Normaliser, *, key: Array
    ) -> PlannerState:
        """The state for an initial policy."""

    @abc.abstractmethod
    def update(self, state: PlannerState, batch: Batch, *, key: Array) -> tuple[PlannerState, Log]:
        """One policy update. The log has at least `kl`, `accepted`, `critic_loss`, `entropy`."""


class Steps(NamedTuple):
    """The steps of a batch, one per row."""

    states: Float[Array, "n S"]
    actions: Array
    advantage: Float[Array, " n"]
    """Whitened."""
    valid: Bool[Array, " n"]

    @staticmethod
    def of(batch: Batch, advantage: Float[Array, "N T"]) -> "Steps":
        """From a batch and its advantages."""
        flat = lambda x: x.reshape(-1, *x.shape[2:])
        rollout, valid = batch.rollout, batch.rollout.valid.ravel()
        whitened = whiten(advantage.ravel(), valid)
        return Steps(flat(rollout.state), flat(rollout.action), whitened, valid)

    def mean(self, x: Float[Array, " n"]) -> Float[Array, ""]:
        """Mean over the valid steps."""
        return jnp.where(self.valid, x, 0).sum() / jnp.maximum(self.valid.sum(), 1)


def whiten(x: Float[Array, "*n"], valid: Bool[Array, "*n"]) -> Float[Array, "*n"]:
    """Mean 0 and standard deviation 1 over the valid entries; 0 elsewhere."""
    count = jnp.maximum(valid.sum(), 1)
    # subtracting an entry first makes equal entries exactly zero, not amplified rounding noise
    x = x - jnp.where(valid, x, jnp.inf).min()
    mean = jnp.where(valid, x, 0).sum() / count
    centred = jnp.where(valid, x - mean, 0)
    return centred / (jnp.sqrt((centred**2).sum() / count) + 1e-8)
