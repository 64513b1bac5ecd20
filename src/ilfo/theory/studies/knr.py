"""MobILE with a KNR on a pendulum: regret and information gain, against their bounds.

    information gain   I_T = E Σ_t Σ_h min(σ_t², 1)
    its bound          2 H D (2 + 8 (S ln 5 + 2 ln(T²/δ) + ln 4 + D L)) L,
                       L = ln(1 + T H ‖W*‖²/noise²)
    regret             E Σ_t (V of π_t − V of the expert)
    its bound          6 H^2.5 √(T I_T) + 2 H T ε + 2 δ T H,  ε = 2 √(ln(2 T² |F|/δ)/N)

The bound on the regret uses the measured I_T. The regret can never exceed H per iteration, which is
far below the bound for these T. The bonus is the theorem's, H·min(σ, 2), 0.01 times that, or none.
"""

import functools
from dataclasses import dataclass

import jax
import numpy as np

from ilfo.common.statistics import interval
from ilfo.common.tally import COMPILING, tallied
from ilfo.theory.pendulum import (
    CENTRES,
    DELTA,
    EXPERT,
    HORIZON,
    NOISE,
    mobile,
    norm_of_truth,
    true_values,
)
from ilfo.theory.studies.base import Study

SCALES = {"H·min(σ, 2)": 1.0, "0.01·H·min(σ, 2)": 0.01, "none": 0.0}
FEATURES, STATES = 4, 2


@dataclass(frozen=True)
class KNRStudy(Study):
    """MobILE with a KNR on a pendulum: regret and information gain, compared with their bounds."""

    name = "knr"
    repetitions: int = 30
    """Number of learners, each with its own demonstrations and noise."""
    iterations: int = 256
    """Number of iterations T, of one episode each."""
    demonstrations: int = 500
    """Number of expert trajectories N."""
    imagined: int = 16
    """Number of imagined episodes to evaluate each policy."""

    def __post_init__(self):
        least = min(self.repetitions, self.demonstrations, self.imagined)
        if least < 1 or self.iterations < 4:
            raise ValueError(
                "repetitions, demonstrations and imagined must be at least 1, iterations at "
                f"least 4, but they are {self.repetitions}, {self.demonstrations}, "
                f"{self.imagined}, {self.iterations}"
            )

    def measure(self):
        value_key, run_key = jax.random.split(jax.random.key(self.seed))
        values = np.asarray(true_values(2000, key=value_key), float)
        rows, potentials = [], []
        for name, scale in tallied("bonuses", SCALES.items(), first=COMPILING):
            run = functools.partial(
                mobile, scale, self.iterations, self.demonstrations, self.imagined
            )
            keys = jax.random.split(run_key, self.repetitions)
            course = jax.jit(jax.vmap(lambda key, run=run: run(key=key)))(keys)
            regret = (values[np.asarray(course.policy)] - values[EXPERT]).cumsum(1)
            gained = np.asarray(course.gained, float).cumsum(1)
            for t in self._times():
                rows.append(self._row(name, t, regret[:, t - 1], gained[:, t - 1]))
            potential = np.asarray(course.bounded, float).sum(1)
            limit = 2 * HORIZON * np.asarray(course.information, float)[:, -1]
            potentials.append(
                {
                    "bonus": name,
                    "Σ min(‖φ‖², 1)": float(potential.mean()),
                    "2 H ln(det Σ_T/det λI)": float(limit.mean()),
                    "largest ratio": float((potential / limit).max()),
                }
            )
        return {"regret": rows, "potential": potentials}

    def _times(self) -> list[int]:
        times = [self.iterations // 4**k for k in range(5) if self.iterations // 4**k >= 1]
        return sorted(times)

    def _row(self, name, t, regret, gained):
        low, high = interval(regret.tolist())
        growth = np.log(1 + t * HORIZON * norm_of_truth() ** 2 / NOISE**2)
        constant = STATES * np.log(5) + 2 * np.log(t**2 / DELTA) + np.log(4)
        bound = 2 * HORIZON * FEATURES * (2 + 8 * (constant + FEATURES * growth)) * growth
        stats = 2 * np.sqrt(np.log(2 * t**2 * len(CENTRES) / DELTA) / self.demonstrations)
        explored = 6 * HORIZON**2.5 * np.sqrt(t * gained.mean())
        return {
            "bonus": name,
            "T": t,
            "regret": float(regret.mean()),
            "low": low,
            "high": high,
            "regret/T": float(regret.mean() / t),
            "regret's bound": float(explored + 2 * HORIZON * t * (stats + DELTA)),
            "I_T": float(gained.mean()),
            "I_T's bound": float(bound),
        }

    def draw(self, figure, tables):
        left, right = figure.subplots(1, 2)
        for name in SCALES:
            rows = [row for row in tables["regret"] if row["bonus"] == name]
            times = [row["T"] for row in rows]
            (line,) = left.plot(times, [row["regret/T"] for row in rows], "o-", label=name)
            low, high = ([row[end] / row["T"] for row in rows] for end in ("low", "high"))
            left.fill_between(times, low, high, alpha=0.2, color=line.get_color())
            right.plot(times, [row["I_T"] for row in rows], "o-", label=name)
        right.plot(times, [row["I_T's bound"] for row in rows], "k--", label="bound")
        left.set(xscale="log", xlabel="iterations T", ylabel="regret per iteration")
        right.set(xscale="log", yscale="log", xlabel="iterations T", ylabel="information gain")
        left.legend(title="bonus")
        right.legend()
