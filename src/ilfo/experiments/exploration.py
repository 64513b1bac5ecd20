"""What the exploration suite shows: tests of the bonus, corrected over its tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ilfo.experiments.cell import Cell
from ilfo.experiments.results import area, read_results
from ilfo.experiments.significance import LEAST, SIGNIFICANT, chance_of_as_much, holm
from ilfo.experiments.stale import STALE, changed
from ilfo.experiments.sweeps.exploration import FAMILIES
from ilfo.methods.paper import PAPER

PAPERS_TASKS: Mapping[str, str] = {task: f"{task}-no-bonus" for task in PAPER}
"""Cells of the sweep `tasks`: the default, and the same without bonus."""
HEADER = (
    "compared",
    "cell",
    "seeds",
    "mean score of the curve",
    "without bonus",
    "p (bonus is better)",
    "after Holm",
    "p (bonus is worse)",
    "after Holm ",
)


class Comparison(NamedTuple):
    """A cell against the one without bonus."""

    label: str
    """The cell's name, with a mark if either has stale results."""
    mine: list[float]
    """Mean scores of the curves, one per seed."""
    without: list[float]
    better: float
    """One-sided p of being better."""
    worse: float
    better_corrected: float
    """After Holm's correction over the family."""
    worse_corrected: float


def comparisons(
    sweep: str, cells: Sequence[Cell], results: Path, pairs: Mapping[str, str]
) -> list[Comparison]:
    """The comparisons of a family of which both cells have results; Holm's correction is over
    these."""
    known = {cell.name: cell for cell in cells}
    found: list[tuple[str, list[float], list[float]]] = []
    for name, reference in pairs.items():
        groups = [read_results(results, sweep, known[each]) for each in (name, reference)]
        if min(map(len, groups)) >= LEAST:
            mine, without = ([area(record) for record in group] for group in groups)
            found.append((_marked(known[name], known[reference], groups), mine, without))
    better = [chance_of_as_much(mine, without) for _, mine, without in found]
    worse = [chance_of_as_much(without, mine) for _, mine, without in found]
    chances = zip(better, worse, holm(better), holm(worse), strict=True)
    return [Comparison(*groups, *ps) for groups, ps in zip(found, chances, strict=True)]


def exploration_rows(
    sweep: str,
    cells: Sequence[Cell],
    results: Path,
    families: Mapping[str, Mapping[str, str]] = FAMILIES,
) -> list[tuple[str, ...]]:
    """A row per comparison of which both cells have results."""
    rows: list[tuple[str, ...]] = [HEADER]
    for family, pairs in families.items():
        for each in comparisons(sweep, cells, results, pairs):
            chances = (each.better, each.better_corrected, each.worse, each.worse_corrected)
            rows.append(
                (
                    family,
                    each.label,
                    f"{len(each.mine)}, {len(each.without)}",
                    f"{np.mean(each.mine):.3f}",
                    f"{np.mean(each.without):.3f}",
                    *(f"{chance:.4f}" for chance in chances),
                )
            )
    return rows


def outcome(sweep: str, cells: Sequence[Cell], results: Path, pairs: Mapping[str, str]) -> str:
    """On which tasks of a family the bonus is significantly better or worse."""
    found = comparisons(sweep, cells, results, pairs)
    if not found:
        return f"none of {len(pairs)} tasks has been run"
    better = [each.label for each in found if each.better_corrected < SIGNIFICANT]
    worse = [each.label for each in found if each.worse_corrected < SIGNIFICANT]
    so_far = "" if len(found) == len(pairs) else f"; {len(found)} of {len(pairs)} have been run"
    named = lambda labels: f"{len(labels)} ({', '.join(labels)})" if labels else "none"
    return (
        f"significantly better on {named(better)} and worse on {named(worse)} of {len(pairs)} "
        f"tasks{so_far}"
    )


def _marked(cell: Cell, reference: Cell, groups: Sequence[list[dict[str, Any]]]) -> str:
    """The cell's name, with a mark if its results or the reference's are stale."""
    stale = changed(cell, groups[0]) or changed(reference, groups[1])
    return cell.name + (STALE if stale else "")
