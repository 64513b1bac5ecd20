"""Latent actions that explain demonstrated changes of state (ILPO; Edwards et al., 2019).

    g(s, z):  predicted change of state for latent action z, z = 1 … Z
    π(z|s):   probability that the expert takes it
    minimise  E min_z ‖Δ - g(s, z)‖²            over g
            + E ‖Δ - Σ_z π(z|s) g(s, z)‖²       over π

Δ is the normalised change of state. The minimum is relaxed: a small share of the loss is the mean
over all z. Without it, a latent action that never attains the minimum would never be trained.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common import fitting as training
from ilfo.common.networks import MLP, mlp
from ilfo.common.spaces import DiscreteActions
from ilfo.common.types import Log, Normaliser
from ilfo.common.validation import require_at_least, require_share
from ilfo.policies.mlp import CategoricalMLP, MLPPolicy


class Latent(eqx.Module):
    """The fitted model."""

    network: MLP
    policy: CategoricalMLP
    """π(z|s)."""
    changes: Normaliser
    count: int

    def effects(self, state: Float[Array, " S"]) -> Float[Array, "Z S"]:
        """The predicted normalised change of state for each latent action."""
        x = jax.lax.stop_gradient(self.policy.normaliser)(state)
        return jax.vmap(lambda z: self.network(jnp.concatenate([x, z])))(jnp.eye(self.count))

    def explain(self, state: Float[Array, " S"], next_state: Float[Array, " S"]) -> Int[Array, ""]:
        """The latent action whose predicted change is closest to the observed one."""
        change = self.changes(next_state - state)
        distance = ((self.effects(state) - change) ** 2).sum(-1)
        return jnp.argmin(distance).astype(jnp.int32)


class LatentState(eqx.Module):
    model: Latent
    optimiser: Any


class LatentDynamics(eqx.Module):
    """Hyper-parameters of the latent-action model."""

    latents: int | None = None
    """Number of latent actions; None takes the environment's number of actions."""
    width: int = 64
    """Units in each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    relax: float = 0.05
    """Share of the mean over all latent actions in the loss; 0 is the minimum alone."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """Optimiser of both networks."""
    plan: training.Passes = training.Passes(passes=200, batch_size=128)
    """Passes over the demonstrations and batch size."""

    def __post_init__(self):
        require_at_least(self, 1, "width")
        require_at_least(self, 0, "depth")
        require_share(self, "relax")
        if self.latents is not None:
            require_at_least(self, 1, "latents")

    def count(self, actions: DiscreteActions) -> int:
        """Z."""
        return actions.count if self.latents is None else self.latents

    def init(
        self, steps: Float[Array, "n 2 S"], actions: DiscreteActions, *, key: Array
    ) -> LatentState:
        """An untrained model; demonstrated `steps` (state, next state) set its normalisation."""
        network_key, policy_key = jax.random.split(key)
        dim, count, ones = steps.shape[-1], self.count(actions), jnp.ones(steps.shape[0])
        states = Normaliser.fit(steps[:, 0], ones)
        changes = Normaliser.of_targets(steps[:, 1] - steps[:, 0], ones)
        network = mlp(dim + count, dim, self.width, self.depth, key=network_key)
        spec = MLPPolicy(width=self.width, depth=self.depth)
        policy = spec.init(dim, DiscreteActions(count), states, key=policy_key)
        assert isinstance(policy, CategoricalMLP)
        model = Latent(network, policy, changes, count)
        return LatentState(
            model, self.optimiser.build().init(eqx.filter(model, eqx.is_inexact_array))
        )

    def fit(
        self, state: LatentState, steps: Float[Array, "n 2 S"], *, key: Array
    ) -> tuple[LatentState, Log]:
        """Continue training both networks on demonstrated steps (state, next state)."""
        valid = jnp.ones(steps.shape[0], bool)
        model, optimiser, loss = training.fit(
            self._loss,
            state.model,
            state.optimiser,
            self.optimiser.build(),
            training.Dataset(steps, valid),
            self.plan,
            key=key,
        )
        return LatentState(model, optimiser), {"latent_loss": loss}

    def loss(self, state: LatentState, steps: Float[Array, "n 2 S"]) -> Float[Array, ""]:
        """The training loss on demonstrated steps."""
        return self._loss(state.model, steps, jnp.ones(steps.shape[0]))

    def _loss(self, model: Latent, steps, weight):
        def one(step):
            state, change = step[0], jax.lax.stop_gradient(model.changes)(step[1] - step[0])
            effects = model.effects(state)
            errors = ((effects - change) ** 2).mean(-1)
            cause = (1 - self.relax) * errors.min() + self.relax * errors.mean()
            likely = jax.nn.softmax(model.policy.distribution(state).logits)
            expected = likely @ jax.lax.stop_gradient(effects)
            return cause + ((expected - change) ** 2).mean()

        return (weight * jax.vmap(one)(steps)).sum() / jnp.maximum(weight.sum(), 1.0)
