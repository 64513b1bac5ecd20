"""Tabular MobILE on a combination lock: what the bonus, the episodes T and the demonstrations N do.

The gap to the expert, H·Σ_s (d(s) − e(s))⁺, is that of the least favourable cost in [0, 1]^S. It
falls with T down to a floor that N demonstrations leave, which falls like N^-½; the same with the
true model in place of the counted one is the floor of T = ∞. Without a bonus the gap stalls.

The theorem's bonus is H·min(σ, 2), with σ = √(S ln(t² S A/δ)/N(s, a)); the smaller one is 0.1 times
that. The theorem's bound, 6 H^2.5 √(I_T/T) with I_T ≤ 2 H S² A ln(T² S A/δ) ln(1 + TH), is shown
beside what is measured.
"""

from dataclasses import dataclass

import numpy as np

from ilfo.common.statistics import interval
from ilfo.theory.lock import DELTA, combination_lock, mobile, simulate
from ilfo.theory.matching import Matching, divergence, linear_programme
from ilfo.theory.mdp import occupancy
from ilfo.theory.slopes import bootstrap_draws, slope_with_interval
from ilfo.theory.studies.base import Study

THEOREM, SMALLER = "H·min(σ, 2)", "0.1·H·min(σ, 2)"
SCALES = {THEOREM: 1.0, SMALLER: 0.1, "none": 0.0}


@dataclass(frozen=True)
class Tabular(Study):
    """Tabular MobILE: the gap falls to a floor that demonstrations set; without bonus it stalls."""

    levels: int = 5
    """Levels of the lock, and steps of an episode."""
    actions: int = 4
    """Actions A."""
    repetitions: int = 30
    """Locks, each with its own learner and demonstrations."""
    longest: int = 16384
    """Largest number of episodes T; each other is a quarter of the next."""
    lengths: int = 5
    """How many values of T."""
    fewest: int = 16
    """Smallest number of demonstrations N; each other is four times the last."""
    amounts: int = 4
    """How many values of N."""

    def __post_init__(self):
        least = min(self.levels, self.actions, self.repetitions, self.lengths, self.amounts)
        if least < 2 or self.longest < 4 ** (self.lengths - 1) or self.fewest < 1:
            raise ValueError(
                "levels, actions, repetitions, lengths and amounts must be at least 2, fewest at "
                f"least 1, and {self.lengths} lengths must fit below {self.longest}"
            )

    @property
    def checkpoints(self) -> list[int]:
        return [self.longest // 4**k for k in reversed(range(self.lengths))]

    def measure(self):
        gaps = []
        for name, scale in SCALES.items():
            found, plans = self._gaps(scale, None)
            for index, episodes in enumerate(self.checkpoints):
                low, high = interval(found[:, index].tolist())
                gaps.append(
                    {
                        "bonus": name,
                        "T": episodes,
                        "gap": float(found[:, index].mean()),
                        "low": low,
                        "high": high,
                        "plans": float(plans[:, index].mean()),
                        "theorem": self._theorem(episodes),
                    }
                )
        amounts = [self.fewest * 4**k for k in range(self.amounts)]
        ends = np.stack([self._gaps(SCALES[SMALLER], n)[0][:, -1] for n in amounts], 1)
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
        """Gaps (repetitions, T) and how often was planned by then; without a number, of
        demonstrations without end."""
        rows, plans = [], []
        for repetition in range(self.repetitions):
            lock, seen, rng = self._lock(repetition, demonstrations)
            found, planned = mobile(lock, seen, scale, self.checkpoints, rng)
            rows.append(found)
            plans.append(planned)
        return np.array(rows), np.array(plans)

    def _known_model(self, demonstrations: int) -> np.ndarray:
        found = []
        for repetition in range(self.repetitions):
            lock, seen, _ = self._lock(repetition, demonstrations)
            no_bonus = np.zeros(lock.mdp.transitions.shape[:2])
            policy = linear_programme(Matching(lock.mdp, seen, no_bonus)).policy
            states = occupancy(lock.mdp, policy).mean(0).sum(-1)
            found.append(lock.mdp.horizon * divergence(states, lock.expert_states, None))
        return np.array(found)

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
