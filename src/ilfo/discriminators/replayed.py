"""The discriminator of DAC (Kostrikov et al. 2019): a classifier of replayed steps.

    ℓ(x) = logit of 'x is the learner's', whose steps come from the whole replay
    minimise  E_learner softplus(-ℓ) + E_expert softplus(ℓ) + weight · E (‖∇ℓ(x̂)‖ - 1)²
    reward    r(x) = log D(x) - log(1 - D(x)) = -ℓ(x),   D the chance that x is the expert's

x is one step, and x̂ lies between a step of the learner and one of the expert. The last input marks
the absorbing state after termination, where all others are 0. The absorbing state is among the rows
of a batch as often as either side is in it, so that the penalty bounds its reward too: by its
distance from the steps, which therefore must not be small.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common import fitting as training
from ilfo.common.networks import MLP, Linear, mlp
from ilfo.common.pytrees import filter_scan
from ilfo.common.types import Log
from ilfo.common.validation import require_at_least, require_positive
from ilfo.discriminators.classifier import (
    ClassifierState,
    FittedClassifier,
    draw_weighted,
    gradient_penalty,
)

LARGEST = 10.0
"""Bound of the inputs of a step, in the expert's standard deviations."""


def apart(inputs: int) -> float:
    """The last input in the absorbing state: as far from the expert as the farthest step, since
    with a 1 the absorbing state would be among the nearest."""
    return LARGEST * math.sqrt(inputs)


class Source(NamedTuple):
    """Steps of the learner or of the expert, to draw batches from."""

    inputs: Callable[[Int[Array, " n"]], Float[Array, "n I"]]
    """The classifier's inputs for the steps in these slots."""
    weight: Float[Array, " m"]
    """How often each slot is drawn, in proportion."""
    absorbed: Float[Array, ""]
    """Share of all time that is spent after termination."""

    def draw(self, *shape: int, key: Array) -> tuple[Int[Array, "*shape"], Bool[Array, "*shape"]]:
        """Random slots, and whether the absorbing state takes the place of the step."""
        slot_key, absorbed_key = jax.random.split(key)
        absorbed = jax.random.uniform(absorbed_key, shape) < self.absorbed
        return draw_weighted(self.weight, shape, key=slot_key), absorbed

    def rows(self, slots: Int[Array, " n"], absorbed: Bool[Array, " n"]) -> Float[Array, "n I+1"]:
        """The network's inputs for what was drawn."""
        steps = jnp.where(absorbed[:, None], 0.0, self.inputs(slots))
        return jnp.concatenate([steps, apart(steps.shape[-1]) * absorbed[:, None]], -1)


class ReplayClassifier(eqx.Module):
    """Hyper-parameters of DAC's discriminator."""

    width: int = 256
    """Units in each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """Optimiser of the network."""
    batch_size: int = 128
    """Steps of the learner, and as many of the expert, per update."""
    penalty: float = 10.0
    """Weight of the gradient penalty."""
    clip: float = 10.0
    """Rewards are clipped to [-clip, clip]."""

    def __post_init__(self):
        require_at_least(self, 1, "width", "batch_size")
        require_at_least(self, 0, "depth", "penalty")
        require_positive(self, "clip")

    def init(self, inputs: int, *, key: Array) -> ClassifierState:
        """An untrained classifier for steps of that many numbers.

        Its logit is 0 everywhere: the penalty would make any other slope steep before the data have
        turned it the right way."""
        network = mlp(inputs + 1, "scalar", self.width, self.depth, jnp.tanh, key=key)
        network = eqx.tree_at(lambda net: net.layers[-1], network, replace_fn=_silent)
        fitted = FittedClassifier(network, spectral=False)
        params = eqx.filter(fitted, eqx.is_inexact_array)
        return ClassifierState(fitted, self.optimiser.build().init(params))

    def updates(
        self, state: ClassifierState, learner: Source, expert: Source, count: int, *, key: Array
    ) -> tuple[ClassifierState, Log]:
        """`count` updates, each from new batches of both; the log has the means."""
        learner_key, expert_key, between_key = jax.random.split(key, 3)
        transform = self.optimiser.build()
        drawn = (
            learner.draw(count, self.batch_size, key=learner_key),
            expert.draw(count, self.batch_size, key=expert_key),
            jax.random.uniform(between_key, (count, self.batch_size, 1)),
        )

        def step(state, drawn):
            own, experts, between = drawn
            mine, theirs = learner.rows(*own), expert.rows(*experts)
            (loss, accuracy), slope = eqx.filter_value_and_grad(self._loss, has_aux=True)(
                state.fitted, mine, theirs, between
            )
            params = eqx.filter(state.fitted, eqx.is_inexact_array)
            change, optimiser = transform.update(slope, state.optimiser, params)
            log = {"classifier_loss": loss, "classifier_accuracy": accuracy}
            return ClassifierState(eqx.apply_updates(state.fitted, change), optimiser), log

        state, log = filter_scan(step, state, drawn)
        return state, jax.tree.map(jnp.mean, log)

    def reward(self, state: ClassifierState, steps: Float[Array, "n I"]) -> Float[Array, " n"]:
        """Reward of each step."""
        return -jnp.clip(jax.vmap(state.fitted)(steps), -self.clip, self.clip)

    def ending_reward(self, state: ClassifierState) -> Float[Array, ""]:
        """Reward per step after termination."""
        network = state.fitted.network
        steps = network.layers[0].weight.shape[0] - 1
        absorbed = jnp.zeros(steps + 1).at[-1].set(apart(steps))
        return -jnp.clip(network(absorbed), -self.clip, self.clip)

    def _loss(
        self,
        fitted: FittedClassifier,
        mine: Float[Array, "n I+1"],
        theirs: Float[Array, "n I+1"],
        between: Float[Array, "n 1"],
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        network: MLP = fitted.network
        own, experts = jax.vmap(network)(mine), jax.vmap(network)(theirs)
        loss = jax.nn.softplus(-own).mean() + jax.nn.softplus(experts).mean()
        penalty = gradient_penalty(network, between * mine + (1 - between) * theirs)
        accuracy = 0.5 * ((own > 0).mean() + (experts < 0).mean())
        return loss + self.penalty * penalty, accuracy


def _silent(layer: Linear) -> Linear:
    """The same layer with outputs of 0."""
    return jax.tree.map(jnp.zeros_like, layer)
