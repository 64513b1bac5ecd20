"""Tabular dynamics: transition counts of a finite MDP (paper, example 'Discrete MDPs').

    P̂(s'|s, a) = N(s, a, s')/N(s, a), uniform where N = 0
    paper      σ = √(S ln(t² S A/δ) / N)
    weissman   σ = √(2 ln((2^S − 2) π² N² S A/(6δ)) / N)
    σ is at most 2, and 2 where N = 0.

t is the number of fits. Weissman's inequality with a union bound over pairs and over N holds at all
times, however actions are chosen. The paper's constant is simpler and not always larger. States are
one-hot vectors, as made by `gymnasium.wrappers.FlattenObservation`. Shapes: S states, A actions.
"""

import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common.validation import require_probability
from ilfo.dynamics.base import Calibrated, CalibratedDynamics
from ilfo.dynamics.features import count_actions, require_one_hot

Form = Literal["paper", "weissman"]


class Tabular(Calibrated):
    """The fitted model."""

    counts: Int[Array, "S A S"]
    fits: Int[Array, ""]
    delta: float
    form: Form

    @property
    def transitions(self) -> Float[Array, "S A S"]:
        """P̂ for every pair (s, a)."""
        return jax.vmap(jax.vmap(self._probabilities))(self.counts)

    @property
    def widths(self) -> Float[Array, "S A"]:
        """min(σ, 2) for every pair (s, a)."""
        return jax.vmap(jax.vmap(self._width))(self.counts.sum(-1))

    def mean(self, state, action):
        return self._probabilities(self.counts[jnp.argmax(state), action])

    def sample(self, state, action, *, key):
        drawn = jax.random.categorical(key, jnp.log(self.mean(state, action)))
        return jax.nn.one_hot(drawn, state.shape[0])

    def uncertainty(self, state, action):
        return self._width(self.counts[jnp.argmax(state), action].sum())

    def _probabilities(self, counts: Int[Array, " S"]) -> Float[Array, " S"]:
        total = counts.sum()
        return jnp.where(total > 0, counts / jnp.maximum(total, 1), 1 / counts.shape[0])

    def _width(self, count: Int[Array, ""]) -> Float[Array, ""]:
        states, actions, _ = self.counts.shape
        pairs = math.log(states * actions / self.delta)
        n = jnp.maximum(count, 1).astype(jnp.float32)
        if self.form == "paper":
            t = jnp.maximum(self.fits, 1).astype(jnp.float32)
            squared = states * (2 * jnp.log(t) + pairs) / n
        else:
            subsets = math.log(max(2**states - 2, 1))
            squared = 2 * (subsets + pairs + math.log(math.pi**2 / 6) + 2 * jnp.log(n)) / n
        return jnp.where(count > 0, jnp.minimum(jnp.sqrt(squared), 2.0), 2.0)


class TabularState(eqx.Module):
    model: Tabular


class TabularDynamics(CalibratedDynamics):
    """Hyper-parameters of the tabular model."""

    delta: float = 0.1
    """Probability with which the uncertainty may be too small."""
    form: Form = "paper"
    """Formula of the uncertainty: paper or weissman."""

    def __post_init__(self):
        require_probability(self, "delta")
        if self.form not in ("paper", "weissman"):
            raise ValueError(f"form is {self.form!r}, but must be 'paper' or 'weissman'")

    def check_states(self, states):
        require_one_hot(states)

    def init(self, state_dim, actions, *, key):
        counts = jnp.zeros((state_dim, count_actions(actions), state_dim), jnp.int32)
        return TabularState(Tabular(counts, jnp.zeros((), jnp.int32), self.delta, self.form))

    def fit(self, state, new, buffer, *, key):
        seen, reached = jnp.argmax(new.state, -1), jnp.argmax(new.next_state, -1)
        counts = state.model.counts.at[seen, new.action, reached].add(1)
        model = Tabular(counts, state.model.fits + 1, self.delta, self.form)
        error = jax.vmap(model.mean)(new.state, new.action) - jax.nn.one_hot(
            reached, counts.shape[0]
        )
        return TabularState(model), {"model_loss": (error**2).mean()}
