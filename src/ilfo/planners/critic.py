"""State values and advantages (GAE) of costs.

    δ_t = c_t + γ V(s_{t+1}) - V(s_t),   A_t = δ_t + γλ A_{t+1}

After a terminal or runaway step V(s_{t+1}) is c/(1 - γ), the value of staying in an absorbing state
of cost c. After truncation it is the critic's estimate, and the sum over later steps stops. The
critic's network predicts (1 - γ) V, which has the size of one step's cost. Estimates are clipped to
the largest cost in the batch: in tasks whose episodes never terminate, bootstrapped estimates could
otherwise grow without bound.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common import fitting as training
from ilfo.common.networks import MLP, mlp
from ilfo.common.types import Normaliser, Rollout
from ilfo.common.validation import require_at_least, require_share
from ilfo.planners.pull import Pull

LEAST_DISCOUNT = 0.8
"""The smallest discount that a short horizon asks for."""


def discount_for(horizon: int) -> float:
    """The discount that a horizon asks for."""
    return max(LEAST_DISCOUNT, 1 - 5 / horizon)


class Batch(eqx.Module):
    """Trajectories with costs, from which a planner improves the policy."""

    rollout: Rollout
    cost: Float[Array, "N T"]
    terminal_cost: Float[Array, ""]
    """Cost per step after termination."""
    runaway_cost: Float[Array, ""]
    """Cost per step after an imagined trajectory ran away."""
    bonus: Float[Array, "N T"] | None = None
    """The part of -cost that rewards exploring, for the log."""
    pull: Pull | None = None
    """A term to add to the objective."""
    reach: Float[Array, ""] | None = None
    """How much of what the costs say is more than noise, in [0, 1]; None for all."""

    @property
    def largest_cost(self) -> Float[Array, ""]:
        """Largest absolute cost of a step."""
        steps = jnp.where(self.rollout.valid, jnp.abs(self.cost), 0.0).max()
        after = jnp.maximum(jnp.abs(self.terminal_cost), jnp.abs(self.runaway_cost))
        return jnp.maximum(steps, after)


class Critic(eqx.Module):
    """V(s), a network."""

    network: MLP
    normaliser: Normaliser
    scale: float

    def __call__(self, state: Float[Array, " S"]) -> Float[Array, ""]:
        return self.scale * self.network(jax.lax.stop_gradient(self.normaliser)(state))


class CriticState(eqx.Module):
    critic: Critic
    optimiser: Any


class GAECritic(eqx.Module):
    """Hyper-parameters of generalised advantage estimation with a learned value function."""

    discount: float | None = 0.995
    """Discount γ, below 1; None ties it to the horizon H, as 1 - 5/H but at least 0.8: what the
    distance averages are H steps, and what lies beyond them should weigh little."""
    trace: float = 0.97
    """λ of GAE: 1 uses whole returns, 0 bootstraps from the critic after one step."""
    width: int = 64
    """Units in each of the two hidden layers."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3, 1e-5)
    """Optimiser of the critic."""
    plan: training.Passes = training.Passes(passes=1, batch_size=256)
    """Passes over each batch of rollouts, and the size of minibatches."""

    def __post_init__(self):
        require_share(self, "trace")
        require_at_least(self, 1, "width")
        if self.discount is not None and not 0 <= self.discount < 1:
            raise ValueError(f"discount is {self.discount}, but must lie in [0, 1)")

    def for_horizon(self, horizon: int) -> "GAECritic":
        """With the discount that the horizon asks for, where it is left open."""
        if self.discount is not None:
            return self
        return replace(self, discount=discount_for(horizon))

    @property
    def gamma(self) -> float:
        """The discount."""
        if self.discount is None:
            raise ValueError(
                "the discount is open: GAECritic(discount=None) takes it from the horizon, which "
                "only MobILE does; set it to a number below 1"
            )
        return self.discount

    def init(self, state_dim: int, normaliser: Normaliser, *, key: Array) -> CriticState:
        """An untrained critic."""
        network = mlp(state_dim, "scalar", self.width, 2, key=key)
        critic = Critic(network, normaliser, 1 / (1 - self.gamma))
        return CriticState(critic, self.optimiser.build().init(_params(critic)))

    def estimate(
        self, critic: Critic, batch: Batch
    ) -> tuple[Float[Array, "N T"], Float[Array, "N T"]]:
        """Advantages, and the returns to which the critic is fitted."""
        rollout = batch.rollout
        limit = self.absorbed_value(batch.largest_cost)
        values = lambda states: jnp.clip(jax.vmap(jax.vmap(critic))(states), -limit, limit)
        later = values(rollout.next_state)
        later = jnp.where(rollout.terminal, self.absorbed_value(batch.terminal_cost), later)
        later = jnp.where(rollout.runaway, self.absorbed_value(batch.runaway_cost), later)
        now = values(rollout.state)
        advantage = gae(
            batch.cost + self.gamma * later - now,
            rollout.ended | rollout.truncated | ~rollout.valid,
            self.gamma * self.trace,
        )
        return advantage, advantage + now

    def bonus_share(self, batch: Batch) -> Float[Array, ""]:
        """How much of the advantages comes from exploring: with B and C the discounted sums of the
        bonus and of the other costs over later steps, sd(B)/(sd(B) + sd(C)); 0 without a bonus."""
        if batch.bonus is None:
            return jnp.zeros(())
        valid = batch.rollout.valid
        mean = lambda x: jnp.where(valid, x, 0).sum() / jnp.maximum(valid.sum(), 1)
        stop = batch.rollout.ended | batch.rollout.truncated | ~valid
        parts = [batch.bonus, batch.cost + batch.bonus]
        later = gae(
            jnp.concatenate([part - mean(part) for part in parts]),
            jnp.concatenate([stop, stop]),
            self.gamma * self.trace,
        )
        spread = lambda x: jnp.sqrt(mean((x - mean(x)) ** 2))
        explore, other = map(spread, jnp.split(later, 2))
        return explore / jnp.maximum(explore + other, 1e-12)

    def absorbed_value(self, cost: Float[Array, ""]) -> Float[Array, ""]:
        """Value of staying in a state of this cost."""
        return cost / (1 - self.gamma)

    def fit(
        self, state: CriticState, batch: Batch, returns: Float[Array, "N T"], *, key: Array
    ) -> tuple[CriticState, Float[Array, ""]]:
        """Continue fitting the critic to `returns`; the loss is that of the last pass."""

        def loss(critic, rows, weight):
            x, target = rows
            error = (jax.vmap(critic)(x) - target) / critic.scale
            return (weight * error**2).sum() / jnp.maximum(weight.sum(), 1.0)

        rollout = batch.rollout
        rows = (rollout.state.reshape(-1, rollout.state.shape[-1]), returns.ravel())
        critic, optimiser, value = training.fit(
            loss,
            state.critic,
            state.optimiser,
            self.optimiser.build(),
            training.Dataset(rows, rollout.valid.ravel()),
            self.plan,
            key=key,
        )
        return CriticState(critic, optimiser), value


def gae(delta: Float[Array, "N T"], stop: Array, decay: float | Array) -> Float[Array, "N T"]:
    """A_t = δ_t + decay · A_{t+1}; after a stop A_{t+1} counts as 0."""

    def back(later, step):
        delta, stop = step
        now = delta + decay * jnp.where(stop, 0.0, later)
        return now, now

    _, advantage = jax.lax.scan(back, jnp.zeros(delta.shape[0]), (delta.T, stop.T), reverse=True)
    return advantage.T


def _params(critic: Critic):
    return eqx.filter(critic, eqx.is_inexact_array)
