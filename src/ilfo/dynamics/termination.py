"""Termination of imagined episodes: by a known function, a learned classifier, or never.

A rule decides by the next state s' alone, as environments usually do. The learned classifier is a
component of its own rather than a head of the ensemble: it works with every dynamics model, and
terminal and other steps have the same total weight in its loss.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common import fitting as training
from ilfo.common.buffer import Buffer
from ilfo.common.networks import MLP, mlp
from ilfo.common.types import Log, Normaliser
from ilfo.common.validation import require_at_least, require_positive

OUT_OF_REACH = 1e9


class AbstractRule(eqx.Module):
    """A fitted rule."""

    @abc.abstractmethod
    def __call__(self, next_state: Float[Array, " S"]) -> Bool[Array, ""]:
        """Whether the episode ends in this state."""


class AbstractTermination(eqx.Module):
    """How imagined episodes end.

    `init` and `fit` return a state: a pytree with a field `rule`, the fitted `AbstractRule`.
    """

    @abc.abstractmethod
    def init(self, state_dim: int, *, key: Array) -> Any:
        """The state before any data."""

    @abc.abstractmethod
    def fit(self, state: Any, buffer: Buffer, *, key: Array) -> tuple[Any, Log]:
        """Fit to the replay buffer; returns the new state and a log."""


class FixedRule(AbstractRule):
    function: Callable[[Array], Array]

    def __call__(self, next_state):
        return self.function(next_state)


class FixedState(eqx.Module):
    rule: FixedRule


class KnownTermination(AbstractTermination):
    """The environment's own rule, as a pure JAX function of the next state."""

    function: Callable[[Array], Array]

    def init(self, state_dim, *, key):
        return FixedState(FixedRule(self.function))

    def fit(self, state, buffer, *, key):
        return state, {}


def _never(next_state: Array) -> Array:
    return jnp.zeros((), bool)


class NoTermination(AbstractTermination):
    """Imagined episodes never terminate; they run to the horizon."""

    def init(self, state_dim, *, key):
        return FixedState(FixedRule(_never))

    def fit(self, state, buffer, *, key):
        return state, {}


class ClassifierRule(AbstractRule):
    networks: MLP
    inputs: Normaliser
    margin: Float[Array, ""]
    """Mean logit above which the episode ends; out of reach until a terminal step was seen."""

    def logit(self, next_state: Float[Array, " S"]) -> Float[Array, ""]:
        """Mean over the classifiers."""
        x = self.inputs(next_state)
        return eqx.filter_vmap(lambda network: network(x))(self.networks).mean()

    def __call__(self, next_state):
        return self.logit(next_state) > self.margin


class LearnedTerminationState(eqx.Module):
    rule: ClassifierRule
    optimiser: Any


class LearnedTermination(AbstractTermination):
    """A small ensemble of classifiers; terminal and other steps have the same total weight."""

    members: int = 2
    """Number of classifiers whose logits are averaged."""
    width: int = 64
    """Units in each of the two hidden layers."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """Optimiser of the classifiers."""
    plan: training.Passes = training.Passes(passes=5, batch_size=256)
    """Passes over the replay buffer and its terminal steps, and batch size, per fit."""
    odds: float = 10.0
    """An imagined state is terminal if its odds, with classes weighted equally, exceed this."""

    def __post_init__(self):
        require_positive(self, "odds")
        require_at_least(self, 1, "members", "width")

    def init(self, state_dim, *, key):
        networks = eqx.filter_vmap(lambda k: mlp(state_dim, "scalar", self.width, 2, key=k))(
            jax.random.split(key, self.members)
        )
        optimiser = eqx.filter_vmap(self.optimiser.build().init)(
            eqx.filter(networks, eqx.is_inexact_array)
        )
        rule = ClassifierRule(
            networks, Normaliser.identity(state_dim), jnp.array(OUT_OF_REACH, jnp.float32)
        )
        return LearnedTerminationState(rule, optimiser)

    def fit(self, state, buffer, *, key):
        recent, endings = buffer.recent, buffer.endings
        x = jnp.concatenate([recent.items.next_state, endings.items.next_state])
        ending = jnp.concatenate([recent.items.terminal, jnp.ones(endings.capacity, bool)])
        valid = jnp.concatenate([recent.valid, endings.valid])
        inputs = Normaliser.fit(x, valid.astype(jnp.float32))
        rows = (inputs(x), ending, _balance(ending, valid))
        data = training.Dataset(rows, valid, buffer.per_pass + endings.capacity)
        networks, optimiser, losses = eqx.filter_vmap(
            lambda network, opt, k: training.fit(
                _cross_entropy, network, opt, self.optimiser.build(), data, self.plan, key=k
            )
        )(state.rule.networks, state.optimiser, jax.random.split(key, self.members))
        seen = (ending & valid).any()
        margin = jnp.where(seen, jnp.log(self.odds), OUT_OF_REACH).astype(jnp.float32)
        rule = ClassifierRule(networks, inputs, margin)
        return LearnedTerminationState(rule, optimiser), {"termination_loss": losses.mean()}


def _balance(ending, valid):
    """Weights that give the two classes equal total weight, with mean 1."""
    share = (ending & valid).sum() / jnp.maximum(valid.sum(), 1)
    weigh = lambda p: 0.5 / jnp.maximum(p, 1e-3)
    return jnp.where(ending, weigh(share), weigh(1 - share))


def _cross_entropy(network, rows, weight):
    x, ending, balance = rows
    logit = jax.vmap(network)(x)
    losses = jax.nn.softplus(jnp.where(ending, -logit, logit)) * balance
    return (weight * losses).sum() / jnp.maximum(weight.sum(), 1.0)
