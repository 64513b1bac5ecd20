"""A classifier of the learner's and the expert's steps (GAIL, GAIfO).

    ℓ(x) = logit of 'x is the learner's';  at the optimum ℓ = log ρ_learner(x) / ρ_expert(x)
    minimise  E_learner softplus(-ℓ) + E_expert softplus(ℓ) + penalty
    gradient:  penalty = weight · E (‖∇ℓ(x̂)‖ - 1)²,  x̂ between a learner's and an expert's step
    spectral:  each layer's matrix is divided by its largest singular value
    cost:      logit: ℓ;   log: log D = -softplus(-ℓ), never positive, as in GAIL;
               constant: -1 before and 0 after termination, whatever the expert does

x is one step: (s, a) for GAIL, (s, s') for GAIfO, with states scaled by the expert's standard
deviations. One more input is 1 in the absorbing state after termination, where all others are 0.
As in MobILE, the learner and the expert spend the time after termination in the absorbing state, up
to the horizon, so that the sign of the cost does not by itself reward early termination.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common import fitting as training
from ilfo.common.networks import MLP, Linear, mlp
from ilfo.common.pytrees import filter_scan
from ilfo.common.validation import require_at_least, require_positive

POWER_ITERATIONS = 10


class Occupied(NamedTuple):
    """How the time of the learner or the expert is spent: on steps, or after termination."""

    steps: Float[Array, "n I"]
    weight: Float[Array, " n"]
    """Weight of each step; only ratios matter."""
    absorbed: Float[Array, ""]
    """Share of all time that is spent after termination."""


class FittedClassifier(eqx.Module):
    """The network, and whether its layers are spectrally normalised."""

    network: MLP
    spectral: bool

    def __call__(self, x: Float[Array, " I"]) -> Float[Array, ""]:
        """ℓ of a step before termination."""
        return self._effective()(jnp.append(x, 0.0))

    def absorbed(self) -> Float[Array, ""]:
        """ℓ of the absorbing state."""
        inputs = self.network.layers[0].weight.shape[0]
        return self._effective()(jnp.zeros(inputs).at[-1].set(1.0))

    def _effective(self) -> MLP:
        if not self.spectral:
            return self.network
        layers = tuple(
            Linear(layer.weight / largest_singular_value(layer.weight), layer.bias)
            for layer in self.network.layers
        )
        return MLP(layers, self.network.activation, self.network.scalar)


class ClassifierState(eqx.Module):
    fitted: FittedClassifier
    optimiser: Any


class Classifier(eqx.Module):
    """Hyper-parameters of the classifier."""

    width: int = 64
    """Units in each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """Optimiser of the network."""
    plan: training.Passes = training.Passes(passes=5, batch_size=256)
    """Passes over the learner's steps per fit; a batch holds as many steps of the expert."""
    regularisation: Literal["gradient", "spectral", "none"] = "gradient"
    """How the network is kept smooth: gradient penalty, spectral normalisation, or not at all."""
    penalty: float = 1.0
    """Weight of the gradient penalty."""
    cost_form: Literal["logit", "log", "constant"] = "logit"
    """Cost of a step: the logit, GAIL's log D, or the same for every step (survival reference)."""
    clip: float = 10.0
    """Costs are clipped to [-clip, clip]."""
    absorbing: bool = True
    """Count the time after termination; otherwise it has no weight and no cost."""

    def __post_init__(self):
        require_at_least(self, 1, "width")
        require_at_least(self, 0, "depth", "penalty")
        require_positive(self, "clip")

    def init(self, inputs: int, *, key: Array) -> ClassifierState:
        """An untrained classifier for steps of that many numbers."""
        network = mlp(inputs + 1, "scalar", self.width, self.depth, jnp.tanh, key=key)
        fitted = FittedClassifier(network, self.regularisation == "spectral")
        params = eqx.filter(fitted, eqx.is_inexact_array)
        return ClassifierState(fitted, self.optimiser.build().init(params))

    def fit(
        self, state: ClassifierState, learner: Occupied, expert: Occupied, *, key: Array
    ) -> tuple[ClassifierState, dict[str, Array]]:
        """Continue training on the learner's and the expert's steps; returns state and log."""
        draw_key, mix_key, fit_key = jax.random.split(key, 3)
        count = learner.steps.shape[0]
        drawn = draw_weighted(expert.weight, (count,), key=draw_key)
        between = jax.random.uniform(mix_key, (count,))
        rows = (learner.steps, learner.weight, expert.steps[drawn], between)
        absorbed = (self._share(learner), self._share(expert))
        fitted, optimiser, loss = training.fit(
            lambda fitted, rows, _: self._loss(fitted, rows, absorbed),
            state.fitted,
            state.optimiser,
            self.optimiser.build(),
            training.Dataset(rows, learner.weight > 0),
            self.plan,
            key=fit_key,
        )
        log = {
            "classifier_loss": loss,
            "classifier_accuracy": _accuracy(fitted, learner, expert.steps[drawn]),
        }
        return ClassifierState(fitted, optimiser), log

    def cost(self, state: ClassifierState, steps: Float[Array, "n I"]) -> Float[Array, " n"]:
        """Cost of each step."""
        return self._form(jax.vmap(state.fitted)(steps), alive=True)

    def ending_cost(self, state: ClassifierState) -> Float[Array, ""]:
        """Cost per step after termination."""
        if not self.absorbing:
            return jnp.zeros(())
        return self._form(state.fitted.absorbed(), alive=False)

    def _form(self, logit: Array, alive: bool) -> Array:
        if self.cost_form == "constant":
            return jnp.full_like(logit, -1.0 if alive else 0.0)
        cost = logit if self.cost_form == "logit" else -jax.nn.softplus(-logit)
        return jnp.clip(cost, -self.clip, self.clip)

    def _share(self, side: Occupied) -> Float[Array, ""]:
        return side.absorbed if self.absorbing else jnp.zeros(())

    def _loss(self, fitted, rows, absorbed):
        learners, weight, experts, between = rows
        of_learner, of_expert = absorbed
        mine, theirs = jax.vmap(fitted)(learners), jax.vmap(fitted)(experts)
        mean = lambda x: (weight * x).sum() / jnp.maximum(weight.sum(), 1e-12)
        loss = (1 - of_learner) * mean(jax.nn.softplus(-mine))
        loss += (1 - of_expert) * jax.nn.softplus(theirs).mean()
        ending = fitted.absorbed()
        loss += of_learner * jax.nn.softplus(-ending) + of_expert * jax.nn.softplus(ending)
        if self.regularisation != "gradient":
            return loss
        mixed = between[:, None] * learners + (1 - between[:, None]) * experts
        return loss + self.penalty * gradient_penalty(fitted, mixed)


def gradient_penalty(
    logit: Callable[[Float[Array, " I"]], Float[Array, ""]], points: Float[Array, "n I"]
) -> Float[Array, ""]:
    """Mean of (‖∇ℓ‖ - 1)² at these points."""
    slopes = jax.vmap(jax.grad(logit))(points)
    lengths = jnp.sqrt((slopes**2).sum(-1) + 1e-12)
    return ((lengths - 1) ** 2).mean()


def largest_singular_value(matrix: Float[Array, "n m"]) -> Float[Array, ""]:
    """By power iteration; no gradient flows through the singular vectors."""
    still = jax.lax.stop_gradient(matrix)

    def step(vector, _):
        vector = still.T @ (still @ vector)
        return vector / jnp.sqrt((vector**2).sum() + 1e-12), None

    start = jnp.ones(matrix.shape[1]) / jnp.sqrt(matrix.shape[1])
    right, _ = filter_scan(step, start, jnp.arange(POWER_ITERATIONS))
    left = still @ right
    left = left / jnp.sqrt((left**2).sum() + 1e-12)
    return left @ matrix @ right


def draw_weighted(
    weight: Float[Array, " n"], shape: tuple[int, ...], *, key: Array
) -> Int[Array, "*shape"]:
    """Random indices, with probabilities proportional to `weight`."""
    edges = jnp.cumsum(weight)
    drawn = jax.random.uniform(key, shape) * edges[-1]
    return jnp.clip(jnp.searchsorted(edges, drawn, side="right"), 0, weight.shape[0] - 1)


def _accuracy(fitted: FittedClassifier, learner: Occupied, experts: Float[Array, "n I"]):
    """Share of steps classified correctly, with both sides weighted equally; chance is ½."""
    mine = (learner.weight * (jax.vmap(fitted)(learner.steps) > 0)).sum() / learner.weight.sum()
    return 0.5 * (mine + (jax.vmap(fitted)(experts) < 0).mean())
