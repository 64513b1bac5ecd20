"""Inverse dynamics: predicts the action from a state and the next state (for BC-O).

    q(a | s, s'):  a softmax over discrete actions, or over each entry of vectors of them,
                   or N(μ(s, s'), diag σ²(s, s')) on [-1, 1]^A
    minimise  - E log q(a | s, s')   over the agent's own transitions

The network's inputs are the normalised state and the normalised change of state. If several
actions lead to the same next state, the confidence of q is low. Every tenth slot of the replay
buffer is held out and measures accuracy: the share of correct actions, or for Box actions the
explained share of their variance.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common import fitting as training
from ilfo.common.buffer import Buffer
from ilfo.common.networks import MLP, mlp
from ilfo.common.spaces import ActionSpace, BoxActions
from ilfo.common.types import Log, Normaliser, Transition
from ilfo.common.validation import require_at_least
from ilfo.policies.base import (
    AbstractDistribution,
    Categorical,
    Gaussian,
    MultiCategorical,
    discrete_distribution,
    split_entries,
)

LOG_STD = (-5.0, 2.0)
HELD_OUT = 10
"""One in HELD_OUT slots of the replay buffer is held out."""


class Inverse(eqx.Module):
    """The fitted model."""

    network: MLP
    actions: ActionSpace
    states: Normaliser
    changes: Normaliser
    spread: Float[Array, " A"]
    """Standard deviation of the actions in the data; 1 for discrete actions."""

    def distribution(
        self, state: Float[Array, " S"], next_state: Float[Array, " S"]
    ) -> AbstractDistribution:
        """q(·|s, s')."""
        x = jnp.concatenate([self.states(state), self.changes(next_state - state)])
        out = self.network(jax.lax.stop_gradient(x))
        discrete = discrete_distribution(self.actions, out)
        if discrete is not None:
            return discrete
        mean, log_std = jnp.split(out, 2)
        return Gaussian(mean, jnp.clip(log_std, *LOG_STD))

    def infer(self, state: Float[Array, " S"], next_state: Float[Array, " S"]) -> Array:
        """The most likely action, clipped to the action space."""
        return self.actions.execute(self.distribution(state, next_state).mode())

    def confidence(
        self, state: Float[Array, " S"], next_state: Float[Array, " S"]
    ) -> Float[Array, ""]:
        """Between 0 and 1: the probability of the inferred action; for Box actions, the share of
        their variance that q explains."""
        distribution = self.distribution(state, next_state)
        if isinstance(distribution, Categorical):
            return jax.nn.softmax(distribution.logits).max()
        if isinstance(distribution, MultiCategorical):
            return jnp.exp(distribution.log_prob(distribution.mode()))
        assert isinstance(distribution, Gaussian)
        left = jnp.exp(2 * distribution.log_std) / self.spread**2
        return jnp.clip(1 - left.mean(), 0.0, 1.0)


class InverseState(eqx.Module):
    model: Inverse
    optimiser: Any


class InverseDynamics(eqx.Module):
    """Hyper-parameters of the inverse model."""

    width: int = 64
    """Units in each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """Optimiser of the network."""
    plan: training.Passes = training.Passes(passes=10, batch_size=256)
    """Passes over the replay buffer and batch size per fit."""

    def __post_init__(self):
        require_at_least(self, 1, "width")
        require_at_least(self, 0, "depth")

    def init(self, state_dim: int, actions: ActionSpace, *, key: Array) -> InverseState:
        """An untrained model."""
        size = actions.encoded_dim
        outputs = 2 * size if isinstance(actions, BoxActions) else size
        network = mlp(2 * state_dim, outputs, self.width, self.depth, key=key)
        scales = Normaliser.identity(state_dim)
        model = Inverse(network, actions, scales, scales, jnp.ones(size))
        optimiser = self.optimiser.build().init(eqx.filter(network, eqx.is_inexact_array))
        return InverseState(model, optimiser)

    def fit(self, state: InverseState, buffer: Buffer, *, key: Array) -> tuple[InverseState, Log]:
        """Recompute the normalisation from the replay buffer and continue training the network."""
        seen, old = buffer.recent.items, state.model
        aside = buffer.recent.valid & (jnp.arange(buffer.recent.capacity) % HELD_OUT == 0)
        trained = buffer.recent.valid & ~aside
        scaled = Inverse(
            old.network,
            old.actions,
            Normaliser.fit(seen.state, buffer.weight),
            Normaliser.fit(seen.next_state - seen.state, buffer.weight, floor=1e-6),
            self._spread(old.actions, seen.action, buffer.weight),
        )

        def loss(network, rows, weight):
            model = eqx.tree_at(lambda m: m.network, scaled, network)
            likelihood = jax.vmap(lambda s, a, n: model.distribution(s, n).log_prob(a))
            losses = -likelihood(rows.state, rows.action, rows.next_state)
            return (weight * losses).sum() / jnp.maximum(weight.sum(), 1.0)

        network, optimiser, value = training.fit(
            loss,
            old.network,
            state.optimiser,
            self.optimiser.build(),
            training.Dataset(seen, trained, buffer.per_pass),
            self.plan,
            key=key,
        )
        model = eqx.tree_at(lambda m: m.network, scaled, network)
        log = {"inverse_loss": value, "inverse_accuracy": accuracy(model, seen, aside)}
        return InverseState(model, optimiser), log

    def _spread(self, actions: ActionSpace, taken: Array, weight: Float[Array, " n"]):
        if not isinstance(actions, BoxActions):
            return jnp.ones(actions.encoded_dim)
        return Normaliser.fit(taken, weight).scale


class Inverses(eqx.Module):
    """Fitted members, their arrays stacked along a leading axis M; the model is their mixture."""

    members: Inverse

    def distribution(
        self, state: Float[Array, " S"], next_state: Float[Array, " S"]
    ) -> AbstractDistribution:
        """The mixture; for vectors of discrete actions, of each entry by itself; for Box actions,
        the Gaussian of its mean and variance."""
        each = eqx.filter_vmap(lambda member: member.distribution(state, next_state))(self.members)
        if isinstance(each, Categorical):
            return Categorical(jnp.log(jax.nn.softmax(each.logits).mean(0)))
        if isinstance(each, MultiCategorical):
            entries = split_entries(each.logits, each.counts)
            mixed = [jnp.log(jax.nn.softmax(logits).mean(0)) for logits in entries]
            return MultiCategorical(jnp.concatenate(mixed), each.counts)
        assert isinstance(each, Gaussian)
        mean = each.mean.mean(0)
        variance = (jnp.exp(2 * each.log_std) + (each.mean - mean) ** 2).mean(0)
        return Gaussian(mean, 0.5 * jnp.log(variance))

    def infer(self, state: Float[Array, " S"], next_state: Float[Array, " S"]) -> Array:
        """The most likely action, clipped to the action space."""
        return self.members.actions.execute(self.distribution(state, next_state).mode())


class InverseEnsemble(eqx.Module):
    """Hyper-parameters of several inverse models that differ by their initial weights. Their
    mixture infers the expert's actions better than one of them does."""

    member: InverseDynamics = InverseDynamics(optimiser=training.Adam(1e-3, regularisation=1e-2))
    """Each of the models. The regularisation is for states that the agent has not been near."""
    members: int = 4
    """Number of models."""

    def __post_init__(self):
        require_at_least(self, 1, "members")

    def init(self, state_dim: int, actions: ActionSpace, *, key: Array) -> InverseState:
        """Untrained members."""
        keys = jax.random.split(key, self.members)
        return eqx.filter_vmap(lambda k: self.member.init(state_dim, actions, key=k))(keys)

    def fit(
        self, state: InverseState, buffer: Buffer, *, key: Array
    ) -> tuple[InverseState, Inverses, Log]:
        """Continue training the members; returns their state, their mixture and the mean log."""
        keys = jax.random.split(key, self.members)
        fit = lambda member, k: self.member.fit(member, buffer, key=k)
        state, log = eqx.filter_vmap(fit)(state, keys)
        return state, Inverses(state.model), jax.tree.map(jnp.mean, log)


def accuracy(model: Inverse, transitions: Transition, valid: Bool[Array, " n"]) -> Float[Array, ""]:
    """Share of discrete actions that are inferred correctly, with all their entries, or R² of Box
    actions."""
    inferred = jax.vmap(model.infer)(transitions.state, transitions.next_state)
    count = jnp.maximum(valid.sum(), 1)
    if not isinstance(model.actions, BoxActions):
        right = inferred == transitions.action
        whole = right if right.ndim == 1 else right.all(-1)
        return (valid & whole).sum() / count
    weight = valid[:, None].astype(jnp.float32)
    mean = (weight * transitions.action).sum(0) / count
    error = (weight * (inferred - transitions.action) ** 2).sum()
    total = (weight * (transitions.action - mean) ** 2).sum()
    return 1 - error / jnp.maximum(total, 1e-12)
