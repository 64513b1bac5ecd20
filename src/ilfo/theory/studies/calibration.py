"""Calibration: how often each uncertainty covers the model error, at all steps and after all fits.

A repetition draws true dynamics that satisfy the model's assumptions, fits the model to more and
more transitions, and checks after every fit whether ‖P̂ − P*‖₁ ≤ min(σ, 2), at all pairs of a finite
MDP or at many random steps. Coverage is the share of repetitions in which this never fails; it
should be at least 1 − δ. For Gaussian models the distance is computed by its exact formula. For
σ ≥ 2 the inequality always holds, so the table also has the share of steps with σ < 2. In the
controls σ is divided by 10, and coverage must fail.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ilfo.common.buffer import Buffer
from ilfo.common.tally import COMPILING, tallied
from ilfo.theory.studies.base import Study
from ilfo.theory.worlds import FITS, CalibrationWorld, ErrorRatio, cases


def over_fits(make: Callable[[Array], CalibrationWorld], fits: int, key: Array) -> ErrorRatio:
    """The largest ratio of one repetition over its fits, and the mean share of σ < 2."""
    world_key, run_key = jax.random.split(key)
    world = make(world_key)
    arrays, static = eqx.partition(world.state, eqx.is_array)

    def step(arrays, key):
        before = eqx.combine(arrays, static)
        new = world.draw(before.model, key)
        one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), new)
        state, _ = world.spec.fit(before, new, Buffer.empty(one, 1, 1, 1), key=key)
        return eqx.filter(state, eqx.is_array), world.compare(state.model)

    _, ratios = jax.lax.scan(step, arrays, jax.random.split(run_key, fits))
    return ErrorRatio(ratios.ratio.max(), ratios.informative.mean())


@functools.partial(jax.jit, static_argnums=0)
def _repeated(one: Callable[[Array], ErrorRatio], keys: Array) -> ErrorRatio:
    """One after the other: decompositions of many matrices at once can deadlock XLA's CPU threads,
    and one repetition keeps the cores busy."""
    return jax.lax.map(one, keys)


@dataclass(frozen=True)
class Calibration(Study):
    """How often each uncertainty covers the model error, compared with 1 - delta."""

    name = "calibration"
    repetitions: int = 2000
    """Number of independent true dynamics for each uncertainty."""
    fits: int = FITS
    """Number of fits of each model, each with the same number of new transitions."""
    delta: float = 0.1
    """Probability with which coverage may fail."""

    def __post_init__(self):
        if self.repetitions < 1 or not 1 <= self.fits <= FITS or not 0 < self.delta < 1:
            raise ValueError(
                f"repetitions is {self.repetitions}, fits is {self.fits}, delta is {self.delta}, "
                f"but there must be at least 1 repetition, 1 to {FITS} fits, delta in (0, 1)"
            )

    def measure(self):
        from scipy.stats import binomtest

        rows: list[dict[str, Any]] = []
        several = cases(self.delta).items()
        for (name, setting), make in tallied("uncertainties", several, first=COMPILING):
            key = jax.random.fold_in(jax.random.key(self.seed), len(rows))
            keys = jax.random.split(key, self.repetitions)
            repeated = _repeated(functools.partial(over_fits, make, self.fits), keys)
            ratios = np.asarray(repeated.ratio)
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
                    "share of σ < 2": float(repeated.informative.mean()),
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
