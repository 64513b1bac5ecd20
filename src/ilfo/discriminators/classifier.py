"""A network that tells the learner's steps from the expert's (GAIL, GAIfO).

    ℓ(x) = logit of 'x is the learner's';  at the optimum ℓ = log ρ_learner(x) / ρ_expert(x)
    minimise  E_learner softplus(-ℓ) + E_expert softplus(ℓ) + penalty
    gradient:  penalty = weight · E (‖∇ℓ(x̂)‖ - 1)²,  x̂ between a learner's and an expert's step
    spectral:  each layer's matrix is divided by its largest singular value
    cost:      logit: ℓ;   log: log D = -softplus(-ℓ), never positive, as in GAIL;
               constant: -1 while alive and 0 behind an ending, whatever the expert does

x is one step: (s, a) for GAIL, (s, s') for GAIfO, states scaled by the expert's deviations; one
more input is 1 in the absorbing state behind an ending, where all others are 0. How much time is
spent there is counted as in MobILE, up to the horizon, for both sides; so it does not matter for
imitation whether the cost is positive or negative.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common import fitting as training
from ilfo.common.networks import MLP, Linear, mlp
from ilfo.common.pytrees import filter_scan
from ilfo.common.validation import require_at_least, require_positive

POWER_ITERATIONS = 10


class Occupied(NamedTuple):
    """Where someone's time goes: on steps, and behind endings."""

    steps: Float[Array, "n I"]
    weight: Float[Array, " n"]
    """Of each step; their sum does not matter."""
    absorbed: Float[Array, ""]
    """Share of all time that is spent behind endings."""


class FittedClassifier(eqx.Module):
    network: MLP
    spectral: bool

    def __call__(self, x: Float[Array, " I"]) -> Float[Array, ""]:
        """ℓ of an ordinary step."""
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
    width: int = 64
    """Units in each hidden layer."""
    depth: int = 2
    """Hidden layers."""
    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """How the network is fitted."""
    plan: training.Passes = training.Passes(passes=5, batch_size=256)
    """Passes over the learner's steps per fit; every batch holds as many of the expert's."""
    regularisation: Literal["gradient", "spectral", "none"] = "gradient"
    """What keeps it smooth: a penalty on the gradient's length, spectral normalisation, nothing."""
    penalty: float = 1.0
    """Weight of the gradient penalty."""
    cost_form: Literal["logit", "log", "constant"] = "logit"
    """The cost of a step: the logit, GAIL's log D, or the same for every step alive."""
    clip: float = 10.0
    """Largest size of a cost."""
    absorbing: bool = True
    """Count the time behind an ending; otherwise an episode's end carries no cost of its own."""

    def __post_init__(self):
        require_at_least(self, 1, "width")
        require_at_least(self, 0, "depth", "penalty")
        require_positive(self, "clip")

    def init(self, inputs: int, *, key: Array) -> ClassifierState:
        network = mlp(inputs + 1, "scalar", self.width, self.depth, jnp.tanh, key=key)
        fitted = FittedClassifier(network, self.regularisation == "spectral")
        params = eqx.filter(fitted, eqx.is_inexact_array)
        return ClassifierState(fitted, self.optimiser.build().init(params))

    def fit(
        self, state: ClassifierState, learner: Occupied, expert: Occupied, *, key: Array
    ) -> tuple[ClassifierState, dict[str, Array]]:
        draw_key, mix_key, fit_key = jax.random.split(key, 3)
        count = learner.steps.shape[0]
        drawn = _draw(expert.weight, count, key=draw_key)
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
        return self._form(jax.vmap(state.fitted)(steps), alive=True)

    def ending_cost(self, state: ClassifierState) -> Float[Array, ""]:
        """Per step behind a terminal state."""
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
        slopes = jax.vmap(jax.grad(fitted))(mixed)
        lengths = jnp.sqrt((slopes**2).sum(-1) + 1e-12)
        return loss + self.penalty * ((lengths - 1) ** 2).mean()


def largest_singular_value(matrix: Float[Array, "n m"]) -> Float[Array, ""]:
    """By power iteration, through which no gradient flows."""
    still = jax.lax.stop_gradient(matrix)

    def step(vector, _):
        vector = still.T @ (still @ vector)
        return vector / jnp.sqrt((vector**2).sum() + 1e-12), None

    start = jnp.ones(matrix.shape[1]) / jnp.sqrt(matrix.shape[1])
    right, _ = filter_scan(step, start, jnp.arange(POWER_ITERATIONS))
    left = still @ right
    left = left / jnp.sqrt((left**2).sum() + 1e-12)
    return left @ matrix @ right


def _draw(weight: Float[Array, " n"], count: int, *, key: Array) -> Array:
    """That many places, drawn by weight."""
    edges = jnp.cumsum(weight)
    drawn = jax.random.uniform(key, (count,)) * edges[-1]
    return jnp.clip(jnp.searchsorted(edges, drawn, side="right"), 0, weight.shape[0] - 1)


def _accuracy(fitted: FittedClassifier, learner: Occupied, experts: Float[Array, "n I"]):
    """Share of steps whose side is told, both sides alike; one half is chance."""
    mine = (learner.weight * (jax.vmap(fitted)(learner.steps) > 0)).sum() / learner.weight.sum()
    return 0.5 * (mine + (jax.vmap(fitted)(experts) < 0).mean())
