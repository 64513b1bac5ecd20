"""Permutation tests over seeds.

If both groups have the same distribution, every assignment of the values to the two groups is
equally likely. p is the share of assignments whose difference of means is at least the observed
one. Two groups of five seeds have 252 assignments, so the smallest p is 0.004.
"""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.environments.factory import factory
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import area, read_results, score_curve
from ilfo.experiments.stale import STALE, changed, marked
from ilfo.rollouts.scores import random_return
from ilfo.runs.spec import RunSpec

LEAST = 2
"""Smallest number of seeds for a test."""
SIGNIFICANT = 0.05
RANDOM_EPISODES = 10
"""Episodes of a mean return of random actions: enough, as they are all alike and tables wait for
them."""
AGAINST_NO_BONUS = (
    "cell",
    "seeds",
    "mean score of the curve",
    "without bonus",
    "p (bonus is better)",
    "p (bonus is worse)",
)
AGAINST_BCO = (
    "cell",
    "seeds",
    "points of the curves",
    f"MobILE is lower (p < {SIGNIFICANT})",
    "largest lead of BC-O",
    "at environment steps",
    "p",
)
AGAINST_RANDOM = (
    "cell",
    "seeds",
    "random return",
    "greedy return",
    "p (greedy)",
    "stochastic return",
    "p (stochastic)",
)


def chance_of_as_much(
    better: Sequence[float] | np.ndarray, worse: Sequence[float] | np.ndarray
) -> float:
    """One-sided p of the difference of means; exact for at most 10,000 assignments."""
    from scipy.stats import permutation_test

    result = permutation_test(
        (np.asarray(better, float), np.asarray(worse, float)),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        permutation_type="independent",
        alternative="greater",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


def holm(chances: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's step-down method, in the same order."""
    count, corrected, least = len(chances), [0.0] * len(chances), 0.0
    for rank, place in enumerate(np.argsort(chances, kind="stable")):
        least = max(least, min(1.0, (count - rank) * chances[place]))
        corrected[place] = least
    return corrected


def against_random(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """Returns of chosen policies against those of a random policy; a row per cell with results."""
    rows: list[tuple[str, ...]] = [AGAINST_RANDOM]
    for cell in cells:
        records = read_results(results, sweep, cell)
        if len(records) < LEAST:
            continue
        chance = _random_returns(cell.spec, len(records))
        row = [marked(cell, records), str(len(records)), f"{np.mean(chance):.1f}"]
        for name in ("greedy_return", "stochastic_return"):
            returns = [record["result"][name] for record in records]
            row += [f"{np.mean(returns):.1f}", f"{chance_of_as_much(returns, chance):.3f}"]
        rows.append(tuple(row))
    return rows


def against_no_bonus(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """Mean scores of learning curves with and without the bonus; a row per cell X if both X and
    X-no-bonus have results."""
    rows: list[tuple[str, ...]] = [AGAINST_NO_BONUS]
    for name, *groups in _pairs(sweep, cells, results, "no-bonus"):
        mine, without = ([area(record) for record in group] for group in groups)
        rows.append(
            (
                name,
                f"{len(mine)}, {len(without)}",
                f"{np.mean(mine):.3f}",
                f"{np.mean(without):.3f}",
                f"{chance_of_as_much(mine, without):.3f}",
                f"{chance_of_as_much(without, mine):.3f}",
            )
        )
    return rows


def against_bco(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """Learning curves of MobILE and BC-O, point by point; a row per cell X if both X and X-bco have
    results. p is that of BC-O's lead, not corrected for the number of points."""
    rows: list[tuple[str, ...]] = [AGAINST_BCO]
    for name, *groups in _pairs(sweep, cells, results, "bco"):
        curves = [[score_curve(record) for record in group] for group in groups]
        steps, mobile, bco = common_points(*curves)
        if not len(steps):
            continue
        chances = [chance_of_as_much(*pair) for pair in zip(bco.T, mobile.T, strict=True)]
        leads = bco.mean(0) - mobile.mean(0)
        most = int(leads.argmax())
        rows.append(
            (
                name,
                f"{len(mobile)}, {len(bco)}",
                str(len(steps)),
                str(sum(chance < SIGNIFICANT for chance in chances)),
                f"{leads[most]:.2f}",
                f"{steps[most]:.0f}",
                f"{chances[most]:.3f}",
            )
        )
    return rows


def _pairs(
    sweep: str, cells: Sequence[Cell], results: Path, suffix: str
) -> Iterator[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]:
    """The results of cells X and X-`suffix` where both have enough, and the name of X, marked if
    either is stale."""
    by_name = {cell.name: cell for cell in cells}
    for cell in cells:
        other = by_name.get(f"{cell.name}-{suffix}")
        if other is None:
            continue
        mine, theirs = (read_results(results, sweep, one) for one in (cell, other))
        if min(len(mine), len(theirs)) >= LEAST:
            stale = changed(cell, mine) or changed(other, theirs)
            yield cell.name + (STALE if stale else ""), mine, theirs


def common_points(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Environment steps (n,) at which all curves were evaluated, and the scores there, (seeds, n)
    each."""
    steps = functools.reduce(np.intersect1d, [curve[:, 0] for curve in (*first, *second)])
    at = lambda curves: np.stack([curve[np.isin(curve[:, 0], steps), 1] for curve in curves])
    return steps, at(first), at(second)


def _random_returns(spec: RunSpec, count: int) -> tuple[float, ...]:
    return _played(spec.environment(), spec.horizon, count)


@functools.cache
def _played(environment: str, horizon: int | None, count: int) -> tuple[float, ...]:
    """`count` mean returns of uniformly random actions, each over RANDOM_EPISODES episodes."""
    env = factory(environment, horizon).make()
    return tuple(random_return(env, episodes=RANDOM_EPISODES, seed=seed) for seed in range(count))
