"""Why exploration is needed: the bandit reduction (paper, section 'Exploration in ILFO').

(a) At gap ¼√(A/T) the largest regret over the A instances is at least √(AT)/16 for every algorithm,
    although the best mean is known.
(b) In the worst case over gaps up to 1, with ε fixed for each T before the gap is known, regret
    grows like T^⅔ for the best ε, like T^½ for optimism, and like T for greedy.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.tally import COMPILING, tallied
from ilfo.theory.bandit import (
    Algorithm,
    epsilon_greedy,
    greedy,
    matching,
    one_good_arm,
    optimism,
    regret,
    thompson,
    uniform,
)
from ilfo.theory.slopes import normal_draws, slope_with_interval
from ilfo.theory.studies.base import Study

ALGORITHMS: dict[str, Algorithm] = {
    "uniform": uniform,
    "greedy": greedy,
    "epsilon-greedy": epsilon_greedy,
    "thompson": thompson,
    "optimism": optimism,
    "matching with bonus": matching,
}
SHARES = 2.0 ** -np.arange(1 / 3, 2.1, 1 / 3)
"""Values of ε as multiples of (A/T)^⅓, so that the grid is equally fine for every T."""
RATES = {"epsilon-greedy": 2 / 3, "optimism": 1 / 2, "matching with bonus": 1 / 2, "greedy": 1.0}


@dataclass(frozen=True)
class Explore(Study):
    """Why exploration is needed: regret in the bandit to which imitation reduces."""

    name = "explore"
    arms: int = 4
    """Number of actions A."""
    repetitions: int = 2000
    """Number of independent repetitions per regret."""
    longest: int = 32768
    """Largest number of rounds T; the others are 1/4, 1/16, ... of it."""
    lengths: int = 4
    """Number of values of T."""

    def __post_init__(self):
        shortest = self.longest // 4 ** (self.lengths - 1)
        if self.lengths < 2 or self.arms < 2 or shortest <= self.arms or self.repetitions < 2:
            raise ValueError(
                f"lengths is {self.lengths}, arms is {self.arms} and repetitions is "
                f"{self.repetitions}, but each must be at least 2; the smallest T is {shortest}, "
                "but must be above the number of arms: choose a larger longest or fewer lengths"
            )

    def measure(self):
        lengths = [self.longest // 4**k for k in reversed(range(self.lengths))]
        keys = iter(jax.random.split(jax.random.key(self.seed), 2 * len(lengths) * len(ALGORITHMS)))
        lower, worst = [], []
        regrets: dict[str, list[np.ndarray]] = {name: [] for name in RATES}
        draws: dict[str, list[np.ndarray]] = {name: [] for name in RATES}
        rng = np.random.default_rng(self.seed)
        for rounds in tallied("lengths", lengths, first=COMPILING):
            for name, algorithm in ALGORITHMS.items():
                lower.append(self._lower_bound(name, algorithm, rounds, next(keys)))
            gaps, shares = gaps_up_to_one(self.arms, rounds), shares_for(self.arms, rounds)
            for name in RATES:
                mean, error = self._over_gaps(ALGORITHMS[name], gaps, shares, rounds, next(keys))
                regrets[name].append(_minimax(mean))
                draws[name].append(_minimax(normal_draws(mean, error, rng)))
                share, gap = np.unravel_index(_best(mean), mean.shape)
                worst.append(
                    {
                        "algorithm": name,
                        "T": rounds,
                        "regret": float(mean[share, gap]),
                        "standard error": float(error[share, gap]),
                        "worst gap": float(gaps[gap]),
                        "best ε": float(shares[share]) if name == "epsilon-greedy" else "",
                    }
                )
        slopes = [
            self._slope(name, lengths[first:], regrets[name][first:], draws[name][first:])
            for first in dict.fromkeys((0, self.lengths - 2))
            for name in RATES
        ]
        return {"lower_bound": lower, "worst_case": worst, "slopes": slopes}

    def _lower_bound(self, name, algorithm, rounds, key):
        """(a): the largest mean regret over the A instances."""
        gap = 0.25 * np.sqrt(self.arms / rounds)
        instances = jnp.stack([one_good_arm(self.arms, gap, i) for i in range(self.arms)])
        share = jnp.full(self.arms, (self.arms / rounds) ** (1 / 3))
        regrets = np.asarray(
            regret(algorithm, instances, share, rounds, repetitions=self.repetitions, key=key)
        )
        largest = int(regrets.mean(0).argmax())
        bound = np.sqrt(self.arms * rounds) / 16
        mean = float(regrets.mean(0)[largest])
        error = float(regrets.std(0)[largest] / np.sqrt(self.repetitions))
        return {
            "algorithm": name,
            "T": rounds,
            "gap": float(gap),
            "largest regret": mean,
            "standard error": error,
            "√(AT)/16": float(bound),
            "ratio": mean / float(bound),
        }

    def _over_gaps(self, algorithm, gaps, shares, rounds, key):
        """(b): mean regrets (ε, gaps) and their standard errors; one row if there is no ε."""
        shares = shares if algorithm is epsilon_greedy else np.zeros(1)
        share, gap = np.meshgrid(shares, gaps, indexing="ij")
        instances = jax.vmap(lambda g: one_good_arm(self.arms, g))(jnp.asarray(gap.ravel()))
        regrets = np.asarray(
            regret(
                algorithm,
                instances,
                jnp.asarray(share.ravel()),
                rounds,
                repetitions=self.repetitions,
                key=key,
            )
        )
        mean = regrets.mean(0).reshape(gap.shape)
        return mean, regrets.std(0).reshape(gap.shape) / np.sqrt(self.repetitions)

    def _slope(self, name, lengths, regrets, draws):
        fitted = slope_with_interval(np.array(lengths), np.array(regrets), np.stack(draws, -1))
        return {
            "algorithm": name,
            "from T": lengths[0],
            "theory": RATES[name],
            "slope": fitted.value,
            "low": fitted.low,
            "high": fitted.high,
        }

    def draw(self, figure, tables):
        left, right = figure.subplots(1, 2)
        for name in ALGORITHMS:
            rows = [row for row in tables["lower_bound"] if row["algorithm"] == name]
            left.plot([r["T"] for r in rows], [r["largest regret"] for r in rows], label=name)
        rows = [row for row in tables["lower_bound"] if row["algorithm"] == "greedy"]
        bound = [row["√(AT)/16"] for row in rows]
        left.plot([r["T"] for r in rows], bound, "k--", label="√(AT)/16")
        left.set(title="(a) gap ¼√(A/T)")
        for row in tables["slopes"][: len(RATES)]:
            rows = [r for r in tables["worst_case"] if r["algorithm"] == row["algorithm"]]
            label = f"{row['algorithm']}: slope {row['slope']:.2f}"
            right.plot([r["T"] for r in rows], [r["regret"] for r in rows], "o-", label=label)
        right.set(title="(b) worst gap, best ε")
        for axes in (left, right):
            axes.set(xscale="log", yscale="log", xlabel="T", ylabel="regret")
            axes.legend(fontsize=8)


def gaps_up_to_one(arms: int, rounds: int) -> np.ndarray:
    """Gaps from 1 down to √(A/T) in half octaves; below, no regret can exceed √(AT)."""
    octaves = 0.5 * np.log2(rounds / arms)
    return 2.0 ** -(np.arange(np.ceil(2 * octaves) + 1) / 2)


def shares_for(arms: int, rounds: int) -> np.ndarray:
    """Values of ε, at most 1."""
    return SHARES * (arms / rounds) ** (1 / 3)


def _best(mean: np.ndarray) -> int:
    """Flat index of the worst gap at the best ε."""
    row = mean.max(1).argmin()
    return int(row * mean.shape[1] + mean[row].argmax())


def _minimax(mean: np.ndarray) -> np.ndarray:
    """Regret at the worst gap for the best ε, of regrets (…, ε, gaps)."""
    return mean.max(-1).min(-1)
