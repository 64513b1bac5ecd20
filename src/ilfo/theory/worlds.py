"""Problems of the calibration study: true dynamics that satisfy a model's assumptions.

Inputs are drawn uniformly. In cases with `chosen` they depend on the model: of four times as many
random inputs, those with the largest predicted first entry of the next state.
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
"""Dimensions of a continuous state, and number of steps at which the error is measured."""
COUNTED, REGRESSED, EXACT, MATCHED = 20, 100, 10, 2
"""Transitions per fit: tabular model, regressions, exact Gaussian process, finite class."""
FITS = 10
"""Largest number of fits; the exact process has room for no more transitions."""
BOX, TWO = BoxActions((-1.0,), (1.0,), (1,)), DiscreteActions(2)
MEMBERS, INPUTS = 20, 4
"""Of the finite class: number of members, and of actions; a member is a table with a row for
each action."""
TOO_SMALL = 10.0
"""Divisor of σ in the controls, whose coverage must fail."""


class ErrorRatio(NamedTuple):
    """A model's error relative to its uncertainty, over the steps at which it is measured."""

    ratio: Float[Array, ""]
    """Largest error/min(σ, 2); above 1 the uncertainty does not cover the error."""
    informative: Float[Array, ""]
    """Share of steps with σ < 2; for σ ≥ 2 the error is always covered."""


class CalibrationWorld(NamedTuple):
    """True dynamics, and the model that learns them."""

    spec: CalibratedDynamics
    state: Any
    """The model before its first fit."""
    draw: Callable[[Any, Array], Transition]
    """New transitions of the true dynamics, given the current model and a key."""
    compare: Callable[[Any], ErrorRatio]
    """Compare a model with the true dynamics."""


def error_ratio(error: Float[Array, " n"], width: Float[Array, " n"]) -> ErrorRatio:
    """The worst ratio over n steps; `width` is min(σ, 2)."""
    # the width can be 0, when one member is left in the version space; then the error must be 0
    return ErrorRatio((error / jnp.maximum(width, 1e-6)).max(), (width < 2).mean())


def tabular(form: Any, states: int, even: bool, delta: float):
    """A finite MDP: all rows uniform if `even`, else drawn from a Dirichlet distribution."""
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
            return error_ratio(error.ravel(), model.widths.ravel())

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
    """Continuous states; `mean_of(features, key)` draws the true mean of (state, action)."""

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

            return error_ratio(*jax.vmap(at)(*inputs(asked_key, ASKED)))

        return CalibrationWorld(spec, state, draw, compare)

    return make


def linear_mean(rows: Callable[[Array], Array]):
    """Mean W φ(s, a) with a random W, scaled by `rows`."""

    def mean_of(features: FittedFeatures, key: Array):
        weights = rows(jax.random.normal(key, (features.dim, DIM)))
        return lambda state, action: features(jnp.concatenate([state, action])) @ weights

    return mean_of


def kernel_mean(features: FittedFeatures, key: Array):
    """Mean with dimensions Σ_i α_i k(z_i, ·), of norm 1 in the kernel's space."""
    centre_key, weight_key = jax.random.split(key)
    centres = jax.random.uniform(centre_key, (10, DIM + 1), minval=-1.0, maxval=1.0)
    near = lambda x: jax.vmap(lambda z: features.kernel(x, z))(centres)
    weights = jax.random.normal(weight_key, (10, DIM))
    weights /= jnp.sqrt(jnp.einsum("id,ij,jd->d", weights, jax.vmap(near)(centres), weights))
    return lambda state, action: near(jnp.concatenate([state, action])) @ weights


def table_row(parameters: Array, state: Array, action: Array) -> Array:
    """A member of the finite class: the table's row for the action."""
    return action @ parameters.reshape(INPUTS, DIM)


def finite(radius: Any, noise: float, largest: float, delta: float):
    """A finite class of random tables, one of which is the true one."""
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

            return error_ratio(*jax.vmap(at)(jnp.arange(INPUTS)))

        return CalibrationWorld(spec, spec.init(DIM, choices, key=key), draw, compare)

    return make


def cases(delta: float) -> dict[tuple[str, str], Callable[[Array], CalibrationWorld]]:
    """Problems by (uncertainty, setting), each a function of a random key."""
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
            (f"{name}, σ/{TOO_SMALL:g}", setting): smooth(*arguments, divided=TOO_SMALL)
            for (name, setting), arguments in regressions.items()
        },
        **{
            (f"finite class, {radius}", f"noise {size:g}, G = {largest:g}"): finite(
                radius, size, largest, delta
            )
            for radius in ("corrected", "paper")
            for size, largest in ((0.1, 0.1), (1.0, 0.5), (1.0, 4.0))
        },
    }
