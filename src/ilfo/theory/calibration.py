"""Calibration: how often every uncertainty covers the error, at all steps and after all fits.

A repetition draws true dynamics that satisfy the model's assumptions, fits the model to more and
more transitions, and asks after every fit whether ‖P̂ − P*‖₁ ≤ min(σ, 2), at all pairs of a finite
MDP or at many random steps. Coverage is the share of repetitions in which it never failed; it was
promised in 1 − δ of them. For Gaussian models the distance is computed by its exact formula.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.stats import binomtest

from ilfo.buffer import Buffer
from ilfo.dynamics.base import CalibratedDynamics, gaussian_l1
from ilfo.dynamics.features import FittedFeatures, RandomFourier
from ilfo.dynamics.finite import FiniteDynamics
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics
from ilfo.environments.spaces import ActionSpace, BoxActions, DiscreteActions
from ilfo.theory.study import Study
from ilfo.types import Transition

DIM, ASKED, NEW, COUNTED = 2, 64, 2, 20
"""Dimensions of a continuous state, steps asked about, transitions per fit, of counts."""
BOX, TWO = BoxActions((-1.0,), (1.0,), (1,)), DiscreteActions(2)
PORTION = 100
"""Repetitions that are computed at once."""
FITS = 10
"""All that the exact process has room for."""
MEMBERS, INPUTS = 20, 4
"""Of the finite class: tables with a row for each of so many actions."""


class World(NamedTuple):
    """True dynamics, and the model that is to learn them."""

    spec: CalibratedDynamics
    actions: ActionSpace
    state: Any
    """The model before its first fit."""
    draw: Callable[[Array], Transition]
    """New transitions."""
    ratio: Callable[[Any], Float[Array, ""]]
    """Largest of error/min(σ, 2) of a model."""


def largest_ratio(make: Callable[[Array], World], fits: int, key: Array) -> Float[Array, ""]:
    """Over all fits of one repetition; above 1 the uncertainty has failed."""
    world_key, run_key = jax.random.split(key)
    world = make(world_key)
    arrays, static = eqx.partition(world.state, eqx.is_array)

    def step(arrays, key):
        new = world.draw(key)
        one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), new)
        state, _ = world.spec.fit(
            eqx.combine(arrays, static), new, Buffer.empty(one, 1, 1, 1), key=key
        )
        return eqx.filter(state, eqx.is_array), world.ratio(state.model)

    _, ratios = jax.lax.scan(step, arrays, jax.random.split(run_key, fits))
    return ratios.max()


@functools.partial(jax.jit, static_argnums=0)
def _ratios(one: Callable[[Array], Array], keys: Array) -> Float[Array, " repetitions"]:
    """Vmapped in portions: XLA's CPU threads may wait for each other for ever in decompositions
    of thousands of matrices at once."""
    return jax.lax.map(one, keys, batch_size=PORTION)


def tabular(form: Any, states: int, even: bool, delta: float):
    """All rows ½ where `even`, else from a Dirichlet distribution."""
    spec = TabularDynamics(delta=delta, form=form)

    def make(key):
        rows = jax.random.dirichlet(key, jnp.ones(states), (states, TWO.count))
        true = jnp.full_like(rows, 1 / states) if even else rows

        def draw(key):
            state_key, action_key, next_key = jax.random.split(key, 3)
            state = jax.random.randint(state_key, (COUNTED,), 0, states)
            action = jax.random.randint(action_key, (COUNTED,), 0, TWO.count)
            reached = jax.random.categorical(next_key, jnp.log(true[state, action]))
            one_hot = lambda index: jax.nn.one_hot(index, states)
            return Transition(one_hot(state), action, one_hot(reached), jnp.zeros(COUNTED, bool))

        def ratio(model):
            return (jnp.abs(model.transitions - true).sum(-1) / model.widths).max()

        return World(spec, TWO, spec.init(states, TWO, key=key), draw, ratio)

    return make


def smooth(spec: Any, noise: float, mean_of: Callable[..., Callable[[Array, Array], Array]]):
    """Continuous states; `mean_of(features, key)` draws the true mean (state, action)."""

    def make(key):
        init_key, mean_key, asked_key = jax.random.split(key, 3)
        state = spec.init(DIM, BOX, key=init_key)
        mean = mean_of(state.model.features, mean_key)

        def inputs(key, count):
            x = jax.random.uniform(key, (count, DIM + 1), minval=-1.0, maxval=1.0)
            return x[:, :DIM], x[:, DIM:]

        def draw(key):
            input_key, noise_key = jax.random.split(key)
            seen, action = inputs(input_key, NEW)
            reached = jax.vmap(mean)(seen, action)
            reached += noise * jax.random.normal(noise_key, reached.shape)
            return Transition(seen, action, reached, jnp.zeros(NEW, bool))

        def ratio(model):
            def at(seen, action):
                shift = model.mean(seen, action) - mean(seen, action)
                return gaussian_l1(shift, noise) / model.width(seen, action)

            return jax.vmap(at)(*inputs(asked_key, ASKED)).max()

        return World(spec, BOX, state, draw, ratio)

    return make


def linear_mean(rows: Callable[[Array], Array]):
    """W φ(s, a), W drawn and scaled by `rows`."""

    def mean_of(features: FittedFeatures, key: Array):
        weights = rows(jax.random.normal(key, (features.dim, DIM)))
        return lambda state, action: features(jnp.concatenate([state, action])) @ weights

    return mean_of


def kernel_mean(features: FittedFeatures, key: Array):
    """Each dimension Σ_i α_i k(z_i, ·) with norm 1 in the kernel's space."""
    centre_key, weight_key = jax.random.split(key)
    centres = jax.random.uniform(centre_key, (10, DIM + 1), minval=-1.0, maxval=1.0)
    near = lambda x: jax.vmap(lambda z: features.kernel(x, z))(centres)
    weights = jax.random.normal(weight_key, (10, DIM))
    weights /= jnp.sqrt(jnp.einsum("id,ij,jd->d", weights, jax.vmap(near)(centres), weights))
    return lambda state, action: near(jnp.concatenate([state, action])) @ weights


def table_row(parameters: Array, state: Array, action: Array) -> Array:
    return action @ parameters.reshape(INPUTS, DIM)


def finite(radius: Any, noise: float, largest: float, delta: float):
    """A class of tables, drawn with the true one among them."""
    choices = DiscreteActions(INPUTS)

    def make(key):
        size_key, turn_key, true_key = jax.random.split(key, 3)
        turned = jax.random.normal(turn_key, (MEMBERS, INPUTS, DIM))
        turned /= jnp.linalg.norm(turned, axis=-1, keepdims=True)
        sizes = jax.random.uniform(size_key, (MEMBERS, INPUTS, 1))
        tables = largest * turned * jnp.sqrt(sizes)
        spec = FiniteDynamics(table_row, tables.reshape(MEMBERS, -1), noise, delta, radius, largest)
        true = tables[jax.random.randint(true_key, (), 0, MEMBERS)]
        nowhere = jnp.zeros(DIM)

        def draw(key):
            action_key, noise_key = jax.random.split(key)
            action = jax.random.randint(action_key, (NEW,), 0, INPUTS)
            reached = true[action] + noise * jax.random.normal(noise_key, (NEW, DIM))
            return Transition(jnp.zeros((NEW, DIM)), action, reached, jnp.zeros(NEW, bool))

        def ratio(model):
            def at(action):
                error = gaussian_l1(model.mean(nowhere, action) - true[action], noise)
                # a version space of one member leaves no uncertainty, and no error may be left
                return error / jnp.maximum(model.width(nowhere, action), 1e-6)

            return jax.vmap(at)(jnp.arange(INPUTS)).max()

        return World(spec, choices, spec.init(DIM, choices, key=key), draw, ratio)

    return make


def cases(delta: float) -> dict[tuple[str, str], Callable[[Array], World]]:
    noise = 0.5
    spectral = linear_mean(lambda w: w / jnp.linalg.norm(w, 2))
    by_column = linear_mean(lambda w: w / jnp.linalg.norm(w, axis=0))
    knr = KNRDynamics(RandomFourier(4, 1.0), noise**2, noise, delta=delta, scaled=False)
    gp = lambda capacity, count: GPDynamics(
        RandomFourier(count, 1.0), capacity, noise, delta=delta, scaled=False
    )
    return {
        **{
            (f"tabular, {form}", f"S = {states}, rows {'even' if even else 'drawn'}"): tabular(
                form, states, even, delta
            )
            for form in ("paper", "weissman")
            for states, even in ((2, True), (5, False))
        },
        ("KNR", "D = 8, ‖W*‖ = 1"): smooth(knr, noise, spectral),
        ("GP, exact", "RBF kernel, norm 1"): smooth(gp(NEW * FITS, 4), noise, kernel_mean),
        ("GP, by features", "D = 16, norm 1"): smooth(gp(1, 8), noise, by_column),
        **{
            (f"finite class, {radius}", f"noise {size:g}, G = {largest:g}"): finite(
                radius, size, largest, delta
            )
            for radius in ("corrected", "paper")
            for size, largest in ((0.1, 0.1), (1.0, 0.5), (1.0, 4.0))
        },
    }


@dataclass(frozen=True)
class Calibration(Study):
    """How often every uncertainty covers the error, against its delta."""

    repetitions: int = 2000
    """Independent true dynamics for every uncertainty."""
    fits: int = FITS
    """Fits of each model, to two more transitions every time; to twenty more of counts."""
    delta: float = 0.1
    """Promised probability of failure."""

    def __post_init__(self):
        if self.repetitions < 1 or not 1 <= self.fits <= FITS or not 0 < self.delta < 1:
            raise ValueError(
                f"{self.repetitions} repetitions, {self.fits} fits, delta {self.delta}: there must "
                f"be a repetition, 1 to {FITS} fits, and "
                "delta in (0, 1)"
            )

    def measure(self):
        rows: list[dict[str, Any]] = []
        for (name, setting), make in cases(self.delta).items():
            key = jax.random.fold_in(jax.random.key(self.seed), len(rows))
            keys = jax.random.split(key, self.repetitions)
            ratios = np.asarray(_ratios(functools.partial(largest_ratio, make, self.fits), keys))
            covered = int((ratios <= 1 + 1e-5).sum())
            around = binomtest(covered, self.repetitions).proportion_ci()
            rows.append(
                {
                    "uncertainty": name,
                    "setting": setting,
                    "promised": 1 - self.delta,
                    "coverage": covered / self.repetitions,
                    "low": float(around.low),
                    "high": float(around.high),
                    "median of largest error/σ": float(np.median(np.minimum(ratios, 99.0))),
                }
            )
        return {"coverage": rows}

    def draw(self, figure, tables):
        axes = figure.subplots()
        rows = tables["coverage"]
        places = np.arange(len(rows))[::-1]
        coverage = np.array([row["coverage"] for row in rows])
        low, high = (np.array([row[name] for row in rows]) for name in ("low", "high"))
        axes.errorbar(coverage, places, xerr=[coverage - low, high - coverage], fmt="o")
        axes.axvline(1 - self.delta, color="black", linestyle="--", label="promised")
        names = [f"{row['uncertainty']} ({row['setting']})" for row in rows]
        axes.set_yticks(places, names, fontsize=7)
        axes.set(xlabel="coverage", xlim=(0, 1.02))
        axes.legend()
