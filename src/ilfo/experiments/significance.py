"""Is one better than the other? Permutation tests over seeds.

Under the hypothesis that both do the same, every way of dealing the numbers out to the two groups
is equally likely; p is the share of ways with at least the difference of means that was found.
Five seeds against five can be dealt out in 252 ways, so the smallest p is 0.004.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import permutation_test

from ilfo.environments.factory import factory
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import STALE, area, changed, marked, read_results
from ilfo.experiments.runner import EPISODES
from ilfo.rollouts.scores import random_return
from ilfo.runs.launch import RunSpec

LEAST = 2
"""Seeds that there must be to compare anything."""
AGAINST_NO_BONUS = ("cell", "seeds", "mean height", "without bonus", "p of better", "p of worse")
AGAINST_RANDOM = ("cell", "seeds", "random return", "greedy return", "p", "stochastic return", "p")


def chance_of_as_much(better: Sequence[float], worse: Sequence[float]) -> float:
    """One-sided p of the difference of means; exact where there are at most 10,000 ways."""
    found = permutation_test(
        (np.asarray(better, float), np.asarray(worse, float)),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        permutation_type="independent",
        alternative="greater",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def against_random(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """Returns of chosen policies against those of a random one; a row per cell with results."""
    rows: list[tuple[str, ...]] = [AGAINST_RANDOM]
    for cell in cells:
        found = read_results(results, sweep, cell)
        if len(found) < LEAST:
            continue
        chance = _random_returns(cell.spec, len(found))
        row = [marked(cell, found), str(len(found)), f"{np.mean(chance):.1f}"]
        for name in ("greedy_return", "stochastic_return"):
            returns = [each["result"][name] for each in found]
            row += [f"{np.mean(returns):.1f}", f"{chance_of_as_much(returns, chance):.3f}"]
        rows.append(tuple(row))
    return rows


def against_no_bonus(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """Does exploring pay? Mean heights of learning curves with λ and without; a row per cell X
    that has results beside those of X-no-bonus."""
    rows: list[tuple[str, ...]] = [AGAINST_NO_BONUS]
    by_name = {cell.name: cell for cell in cells}
    for cell in cells:
        other = by_name.get(f"{cell.name}-no-bonus")
        if other is None:
            continue
        found = [read_results(results, sweep, one) for one in (cell, other)]
        if min(map(len, found)) < LEAST:
            continue
        mine, without = ([area(each) for each in group] for group in found)
        stale = changed(cell, found[0]) or changed(other, found[1])
        rows.append(
            (
                cell.name + (STALE if stale else ""),
                f"{len(mine)}, {len(without)}",
                f"{np.mean(mine):.3f}",
                f"{np.mean(without):.3f}",
                f"{chance_of_as_much(mine, without):.3f}",
                f"{chance_of_as_much(without, mine):.3f}",
            )
        )
    return rows


def _random_returns(spec: RunSpec, count: int) -> tuple[float, ...]:
    return _played(spec.environment(), spec.horizon, count)


@cache
def _played(environment: str, horizon: int | None, count: int) -> tuple[float, ...]:
    """As many mean returns of uniformly random actions, of as many episodes as the scores."""
    made = factory(environment, horizon).make()
    return tuple(random_return(made, episodes=EPISODES, seed=seed) for seed in range(count))
