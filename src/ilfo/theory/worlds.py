"""Worlds for the study of calibration: true dynamics that satisfy a model's assumptions.

Inputs are drawn evenly or, where a case says so, chosen by the model from what it has seen so far:
those of four times as many for which it predicts the largest first entry of the next state.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Transition
from ilfo.dynamics.base import CalibratedDynamics, gaussian_l1
from ilfo.dynamics.features import FittedFeatures, RandomFourier
from ilfo.dynamics.finite import FiniteDynamics
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.tabular import TabularDynamics

DIM, ASKED = 2, 64
"""Dimensions of a continuous state, steps asked about."""
COUNTED, REGRESSED, EXACT, MATCHED = 20, 100, 10, 2
"""Transitions per fit: of counts, of regressions, of the exact process, of the finite class."""
FITS = 10
"""All that the exact process has room for."""
BOX, TWO = BoxActions((-1.0,), (1.0,), (1,)), DiscreteActions(2)
MEMBERS, INPUTS = 20, 4
"""Of the finite class: tables with a row for each of so many actions."""
TOO_SMALL = 10.0
"""What σ is divided by in the controls, which must fail."""


class Found(NamedTuple):
    """How a model's uncertainty stands to its error, over the steps asked about."""

    ratio: Float[Array, ""]
    """Largest of error/min(σ, 2); above 1 the uncertainty has failed."""
    informative: Float[Array, ""]
    """Share of steps with σ < 2: elsewhere nothing can fail."""


class CalibrationWorld(NamedTuple):
    """True dynamics, and the model that is to learn them."""

    spec: CalibratedDynamics
    state: Any
    """The model before its first fit."""
    draw: Callable[[Any, Array], Transition]
    """New transitions, for a model so far."""
    compare: Callable[[Any], Found]
    """A model with the truth."""


def found(error: Float[Array, " n"], width: Float[Array, " n"]) -> Found:
    # a version space of one member leaves no uncertainty, and no error may be left
    return Found((error / jnp.maximum(width, 1e-6)).max(), (width < 2).mean())


def tabular(form: Any, states: int, even: bool, delta: float):
    """All rows ½ where `even`, else from a Dirichlet distribution."""
    spec = TabularDynamics(delta=delta, form=form)

    def make(key):
        rows = jax.random.dirichlet(key, jnp.ones(states), (states, TWO.count))
        true = jnp.full_like(rows, 1 / states) if even else rows

        def draw(model, key):
            state_key, action_key, next_key = jax.random.split(key, 3)
            state = jax.random.randint(state_key, (COUNTED,), 0, states)
            action = jax.random.randint(action_key, (COUNTED,), 0, TWO.count)
            reached = jax.random.categorical(next_key, jnp.log(true[state, action]))
            one_hot = lambda index: jax.nn.one_hot(index, states)
            return Transition(one_hot(state), action, one_hot(reached), jnp.zeros(COUNTED, bool))

        def compare(model):
            error = jnp.abs(model.transitions - true).sum(-1)
            return found(error.ravel(), model.widths.ravel())

        return CalibrationWorld(spec, spec.init(states, TWO, key=key), draw, compare)

    return make


def smooth(
    spec: Any,
    noise: float,
    mean_of: Callable[..., Callable[[Array, Array], Array]],
    batch: int,
    *,
    chosen: bool = False,
    divided: float = 1.0,
):
    """Continuous states; `mean_of(features, key)` draws the true mean (state, action)."""

    def make(key):
        init_key, mean_key, asked_key = jax.random.split(key, 3)
        state = spec.init(DIM, BOX, key=init_key)
        mean = mean_of(state.model.features, mean_key)

        def inputs(key, count):
            x = jax.random.uniform(key, (count, DIM + 1), minval=-1.0, maxval=1.0)
            return x[:, :DIM], x[:, DIM:]

        def draw(model, key):
            input_key, noise_key = jax.random.split(key)
            seen, action = inputs(input_key, 4 * batch if chosen else batch)
            if chosen:
                _, best = jax.lax.top_k(jax.vmap(model.mean)(seen, action)[:, 0], batch)
                seen, action = seen[best], action[best]
            reached = jax.vmap(mean)(seen, action)
            reached += noise * jax.random.normal(noise_key, reached.shape)
            return Transition(seen, action, reached, jnp.zeros(batch, bool))

        def compare(model):
            def at(seen, action):
                shift = model.mean(seen, action) - mean(seen, action)
                sigma = model.uncertainty(seen, action) / divided
                return gaussian_l1(shift, noise), jnp.minimum(sigma, 2.0)

            return found(*jax.vmap(at)(*inputs(asked_key, ASKED)))

        return CalibrationWorld(spec, state, draw, compare)

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

        def draw(model, key):
            action_key, noise_key = jax.random.split(key)
            action = jax.random.randint(action_key, (MATCHED,), 0, INPUTS)
            reached = true[action] + noise * jax.random.normal(noise_key, (MATCHED, DIM))
            return Transition(jnp.zeros((MATCHED, DIM)), action, reached, jnp.zeros(MATCHED, bool))

        def compare(model):
            def at(action):
                error = gaussian_l1(model.mean(nowhere, action) - true[action], noise)
                return error, model.width(nowhere, action)

            return found(*jax.vmap(at)(jnp.arange(INPUTS)))

        return CalibrationWorld(spec, spec.init(DIM, choices, key=key), draw, compare)

    return make


def cases(delta: float) -> dict[tuple[str, str], Callable[[Array], CalibrationWorld]]:
    noise = 0.5
    spectral = linear_mean(lambda w: w / jnp.linalg.norm(w, 2))
    by_column = linear_mean(lambda w: w / jnp.linalg.norm(w, axis=0))
    knr = KNRDynamics(RandomFourier(4, 1.0), noise, ridge=noise**2, delta=delta, scaled=False)
    gp = lambda capacity, features: GPDynamics(
        features, noise, capacity=capacity, delta=delta, scaled=False
    )
    regressions = {
        ("KNR", "D = 8, ‖W*‖ = 1"): (knr, noise, spectral, REGRESSED),
        ("GP, exact", "RBF kernel, norm 1"): (
            gp(EXACT * FITS, RandomFourier(4, 3.0)),
            noise,
            kernel_mean,
            EXACT,
        ),
        ("GP, by features", "D = 16, norm 1"): (
            gp(1, RandomFourier(8, 1.0)),
            noise,
            by_column,
            REGRESSED,
        ),
    }
    return {
        **{
            (f"tabular, {form}", f"S = {states}, rows {'even' if even else 'drawn'}"): tabular(
                form, states, even, delta
            )
            for form in ("paper", "weissman")
            for states, even in ((2, True), (5, False))
        },
        **{case: smooth(*setting) for case, setting in regressions.items()},
        ("KNR", "D = 8, inputs chosen"): smooth(knr, noise, spectral, REGRESSED, chosen=True),
        **{
            (f"{name}, σ/{TOO_SMALL:g}", setting): smooth(*made, divided=TOO_SMALL)
            for (name, setting), made in regressions.items()
        },
        **{
            (f"finite class, {radius}", f"noise {size:g}, G = {largest:g}"): finite(
                radius, size, largest, delta
            )
            for radius in ("corrected", "paper")
            for size, largest in ((0.1, 0.1), (1.0, 0.5), (1.0, 4.0))
        },
    }
