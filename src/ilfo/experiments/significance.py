"""Is a method better than chance? A permutation test of its seeds against a random policy.

Under the hypothesis that both do the same, every way of dealing the returns out to the two groups
is equally likely; p is the share of ways with at least the difference of means that was found.
Five seeds against five can be dealt out in 252 ways, so the smallest p is 0.004.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import permutation_test

from ilfo.environments.factory import factory
from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import EPISODES, result_files
from ilfo.launch import Order
from ilfo.scores import random_return

HEADER = ("cell", "seeds", "random return", "greedy return", "p", "stochastic return", "p")


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
    """A header, then a row per cell that has results."""
    rows: list[tuple[str, ...]] = [HEADER]
    for cell in cells:
        files = [path for path in result_files(results, sweep, cell) if path.exists()]
        if not files:
            continue
        found = [json.loads(path.read_text())["result"] for path in files]
        chance = _random_returns(cell.order, len(files))
        row = [cell.name, str(len(files)), f"{np.mean(chance):.1f}"]
        for name in ("greedy_return", "stochastic_return"):
            returns = [each[name] for each in found]
            row += [f"{np.mean(returns):.1f}", f"{chance_of_as_much(returns, chance):.3f}"]
        rows.append(tuple(row))
    return rows


def _random_returns(order: Order, count: int) -> tuple[float, ...]:
    return _played(order.environment(), order.horizon, count)


@cache
def _played(environment: str, horizon: int | None, count: int) -> tuple[float, ...]:
    """As many mean returns of uniformly random actions, of as many episodes as the scores."""
    made = factory(environment, horizon).make()
    return tuple(random_return(made, episodes=EPISODES, seed=seed) for seed in range(count))
