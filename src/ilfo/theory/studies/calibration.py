"""Calibration: how often every uncertainty covers the error, at all steps and after all fits.

A repetition draws true dynamics that satisfy the model's assumptions, fits the model to more and
more transitions, and asks after every fit whether ‖P̂ − P*‖₁ ≤ min(σ, 2), at all pairs of a finite
MDP or at many random steps. Coverage is the share of repetitions in which it never failed; it was
promised in 1 − δ of them. For Gaussian models the distance is computed by its exact formula. Where
σ ≥ 2 nothing can fail, so the share of steps with σ < 2 stands beside; in controls σ is divided by
so much that it must fail.
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
from scipy.stats import binomtest

from ilfo.common.buffer import Buffer
from ilfo.theory.studies.base import Study
from ilfo.theory.worlds import FITS, CalibrationWorld, Found, cases


def over_fits(make: Callable[[Array], CalibrationWorld], fits: int, key: Array) -> Found:
    """Largest ratio of one repetition, and the mean share of σ < 2."""
    world_key, run_key = jax.random.split(key)
    world = make(world_key)
    arrays, static = eqx.partition(world.state, eqx.is_array)

    def step(arrays, key):
        before = eqx.combine(arrays, static)
        new = world.draw(before.model, key)
        one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), new)
        state, _ = world.spec.fit(before, new, Buffer.empty(one, 1, 1, 1), key=key)
        return eqx.filter(state, eqx.is_array), world.compare(state.model)

    _, found = jax.lax.scan(step, arrays, jax.random.split(run_key, fits))
    return Found(found.ratio.max(), found.informative.mean())


@functools.partial(jax.jit, static_argnums=0)
def _repeated(one: Callable[[Array], Found], keys: Array) -> Found:
    """One by one: XLA's CPU threads may wait for each other for ever in decompositions of many
    matrices at once, and the steps asked about fill the cores."""
    return jax.lax.map(one, keys)


@dataclass(frozen=True)
class Calibration(Study):
    """How often every uncertainty covers the error, against its delta."""

    repetitions: int = 2000
    """Independent true dynamics for every uncertainty."""
    fits: int = FITS
    """Fits of each model, each to as many new transitions."""
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
            found = _repeated(functools.partial(over_fits, make, self.fits), keys)
            ratios = np.asarray(found.ratio)
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
                    "share of σ < 2": float(found.informative.mean()),
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
