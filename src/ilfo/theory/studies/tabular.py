"""Tabular MobILE on a combination lock: effect of the bonus, of T episodes and N demonstrations.

The gap to the expert, H·Σ_s (d(s) − e(s))⁺, is that of the worst cost in [0, 1]^S. It falls with T
to a floor that depends on N and falls like N^-½. Matching with the true model instead of the
learned one gives the floor for T = ∞. Without a bonus the gap stalls.

The theorem's bonus is H·min(σ, 2), with σ = √(S ln(t² S A/δ)/N(s, a)); the smaller one is 0.1 times
that. The tables also show the theorem's bound, 6 H^2.5 √(I_T/T) with
I_T ≤ 2 H S² A ln(T² S A/δ) ln(1 + TH).
"""

from dataclasses import dataclass

import numpy as np

from ilfo.common.statistics import interval
from ilfo.common.tally import COMPILING, tallied
from ilfo.theory.lock import DELTA, combination_lock, mobile, simulate
from ilfo.theory.matching import Matching, divergence, linear_programme
from ilfo.theory.mdp import occupancy
from ilfo.theory.slopes import bootstrap_draws, slope_with_interval
from ilfo.theory.studies.base import Study

THEOREM, SMALLER = "H·min(σ, 2)", "0.1·H·min(σ, 2)"
SCALES = {THEOREM: 1.0, SMALLER: 0.1, "none": 0.0}


@dataclass(frozen=True)
class TabularStudy(Study):
    """Tabular MobILE: the gap falls to a floor set by demonstrations; without bonus it stalls."""

    name = "tabular"
    levels: int = 5
    """Number of levels of the lock, and of steps in an episode."""
    actions: int = 4
    """Number of actions A."""
    repetitions: int = 30
    """Number of locks, each with its own learner and demonstrations."""
    longest: int = 16384
    """Largest number of episodes T; the others are 1/4, 1/16, ... of it."""
    lengths: int = 5
    """Number of values of T."""
    fewest: int = 16
    """Smallest number of demonstrations N; the next are 4, 16, ... times that."""
    amounts: int = 4
    """Number of values of N."""

    def __post_init__(self):
        least = min(self.levels, self.actions, self.repetitions, self.lengths, self.amounts)
        if least < 2 or self.longest < 4 ** (self.lengths - 1) or self.fewest < 1:
            raise ValueError(
                f"levels is {self.levels}, actions is {self.actions}, repetitions is "
                f"{self.repetitions}, lengths is {self.lengths}, amounts is {self.amounts}, but "
                f"each must be at least 2; fewest is {self.fewest}, but must be at least 1; "
                f"longest is {self.longest}, but must be at least 4 ** (lengths - 1)"
            )

    @property
    def checkpoints(self) -> list[int]:
        """The values of T."""
        return [self.longest // 4**k for k in reversed(range(self.lengths))]

    def measure(self):
        gaps = []
        for name, scale in tallied("bonuses", SCALES.items(), first=COMPILING):
            by_length, plans = self._gaps(scale, None)
            for index, episodes in enumerate(self.checkpoints):
                low, high = interval(by_length[:, index].tolist())
                gaps.append(
                    {
                        "bonus": name,
                        "T": episodes,
                        "gap": float(by_length[:, index].mean()),
                        "low": low,
                        "high": high,
                        "plans": float(plans[:, index].mean()),
                        "theorem": self._theorem(episodes),
                    }
                )
        amounts = [self.fewest * 4**k for k in range(self.amounts)]
        shown = tallied("numbers of demonstrations", amounts, first=COMPILING)
        ends = np.stack([self._gaps(SCALES[SMALLER], n)[0][:, -1] for n in shown], 1)
        known = np.stack([self._known_model(n) for n in amounts], 1)
        floors = [
            {"N": n, "gap at the largest T": _spread(end), "gap with the true model": _spread(true)}
            for n, end, true in zip(amounts, ends.T, known.T, strict=True)
        ]
        rng = np.random.default_rng(self.seed)
        slopes = [
            {"floor": name, "theory": -0.5}
            | slope_with_interval(
                np.array(amounts), values.mean(0), bootstrap_draws(values, rng)
            )._asdict()
            for name, values in (("at the largest T", ends), ("with the true model", known))
        ]
        return {"gaps": gaps, "floors": floors, "slopes": slopes}

    def _gaps(self, scale: float, demonstrations: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Gaps and numbers of plans, both (repetitions, T); with None, for infinitely many
        demonstrations."""
        rows, plans = [], []
        for repetition in range(self.repetitions):
            lock, seen, rng = self._lock(repetition, demonstrations)
            gaps, planned = mobile(lock, seen, scale, self.checkpoints, rng)
            rows.append(gaps)
            plans.append(planned)
        return np.array(rows), np.array(plans)

    def _known_model(self, demonstrations: int) -> np.ndarray:
        """Gaps (repetitions,) of matching with the true model."""
        gaps = []
        for repetition in range(self.repetitions):
            lock, seen, _ = self._lock(repetition, demonstrations)
            no_bonus = np.zeros(lock.mdp.transitions.shape[:2])
            policy = linear_programme(Matching(lock.mdp, seen, no_bonus)).policy
            states = occupancy(lock.mdp, policy).mean(0).sum(-1)
            gaps.append(lock.mdp.horizon * divergence(states, lock.expert_states, None))
        return np.array(gaps)

    def _lock(self, repetition: int, demonstrations: int | None):
        rng = np.random.default_rng([self.seed, repetition, demonstrations or 0])
        lock = combination_lock(self.levels, self.actions, rng)
        if demonstrations is None:
            return lock, lock.expert_states, rng
        states, _, _ = simulate(lock.mdp, lock.expert, demonstrations, rng)
        return lock, np.bincount(states.ravel(), minlength=lock.mdp.states) / states.size, rng

    def _theorem(self, episodes: int) -> float:
        """6 H^2.5 √(I_T/T), the part of the bound that falls with T."""
        horizon, states, actions = self.levels, self.levels + 1, self.actions
        often = np.log(episodes**2 * states * actions / DELTA) * np.log(1 + episodes * horizon)
        gained = 2 * horizon * states**2 * actions * often
        return float(6 * horizon**2.5 * np.sqrt(gained / episodes))

    def draw(self, figure, tables):
        left, right = figure.subplots(1, 2)
        for name in SCALES:
            rows = [row for row in tables["gaps"] if row["bonus"] == name]
            episodes = [row["T"] for row in rows]
            (line,) = left.plot(episodes, [row["gap"] for row in rows], "o-", label=name)
            low, high = [row["low"] for row in rows], [row["high"] for row in rows]
            left.fill_between(episodes, low, high, alpha=0.2, color=line.get_color())
        left.set(xscale="log", xlabel="episodes T", ylabel="gap to the expert", title="N = ∞")
        left.legend(title="bonus")
        amounts = [row["N"] for row in tables["floors"]]
        for column in ("gap at the largest T", "gap with the true model"):
            means = [float(row[column].split()[0]) for row in tables["floors"]]
            right.plot(amounts, means, "o-", label=column)
        slope = tables["slopes"][0]
        right.set(
            xscale="log",
            yscale="log",
            xlabel="demonstrations N",
            title=f"floor: slope {slope['value']:.2f} [{slope['low']:.2f}, {slope['high']:.2f}]",
        )
        right.legend()


def _spread(values: np.ndarray) -> str:
    low, high = interval(values.tolist())
    return f"{values.mean():.4f} [{low:.4f}, {high:.4f}]"
