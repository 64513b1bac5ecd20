"""What every planner promises: a better policy from a batch of trajectories with costs.

MobILE makes the batch in its model, expert training and adversarial methods in the environment.
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
    policy: AbstractPolicy
    critic: CriticState
    optimiser: Any
    """Of the policy; None where the method has none."""

    def rescaled(self, normaliser: Normaliser) -> "PlannerState":
        """The same networks behind other scales of the state."""
        scales = lambda p: (p.policy.normaliser, p.critic.critic.normaliser)
        return eqx.tree_at(scales, self, (normaliser, normaliser))


class AbstractPlanner(eqx.Module):
    @abc.abstractmethod
    def init(
        self, policy: AbstractPolicy, state_dim: int, normaliser: Normaliser, *, key: Array
    ) -> PlannerState: ...

    @abc.abstractmethod
    def update(self, state: PlannerState, batch: Batch, *, key: Array) -> tuple[PlannerState, Log]:
        """One improvement. The log has at least `kl`, `accepted`, `critic_loss`, `entropy`."""


class Steps(NamedTuple):
    """A batch's steps in one row each, as a policy is improved from them."""

    states: Float[Array, "n S"]
    actions: Array
    advantage: Float[Array, " n"]
    """Whitened."""
    valid: Bool[Array, " n"]

    @staticmethod
    def of(batch: Batch, advantage: Float[Array, "N T"]) -> "Steps":
        flat = lambda x: x.reshape(-1, *x.shape[2:])
        rollout, valid = batch.rollout, batch.rollout.valid.ravel()
        whitened = whiten(advantage.ravel(), valid)
        return Steps(flat(rollout.state), flat(rollout.action), whitened, valid)

    def mean(self, x: Float[Array, " n"]) -> Float[Array, ""]:
        """Over the valid steps."""
        return jnp.where(self.valid, x, 0).sum() / jnp.maximum(self.valid.sum(), 1)


def whiten(x: Float[Array, "*n"], valid: Bool[Array, "*n"]) -> Float[Array, "*n"]:
    """Zero mean and unit deviation over the valid entries; zero elsewhere."""
    count = jnp.maximum(valid.sum(), 1)
    # measured from one of the entries, equal ones become exactly zero, not blown-up rounding noise
    x = x - jnp.where(valid, x, jnp.inf).min()
    mean = jnp.where(valid, x, 0).sum() / count
    centred = jnp.where(valid, x - mean, 0)
    return centred / (jnp.sqrt((centred**2).sum() / count) + 1e-8)
