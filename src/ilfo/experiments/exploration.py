"""What the exploration suite shows: tests of the bonus, corrected over its tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.experiments.cell import Cell
from ilfo.experiments.results import STALE, area, changed, read_results
from ilfo.experiments.significance import LEAST, chance_of_as_much, holm
from ilfo.experiments.sweeps.exploration import FAMILIES

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


def exploration_rows(
    sweep: str,
    cells: Sequence[Cell],
    results: Path,
    families: Mapping[str, Mapping[str, str]] = FAMILIES,
) -> list[tuple[str, ...]]:
    """A row per comparison of which both cells have results; p is one-sided, and Holm's correction
    is over the comparisons of a family that have results."""
    known = {cell.name: cell for cell in cells}
    rows: list[tuple[str, ...]] = [HEADER]
    for family, pairs in families.items():
        found: list[tuple[str, list[float], list[float]]] = []
        for name, reference in pairs.items():
            groups = [read_results(results, sweep, known[each]) for each in (name, reference)]
            if min(map(len, groups)) >= LEAST:
                mine, without = ([area(record) for record in group] for group in groups)
                found.append((_marked(known[name], known[reference], groups), mine, without))
        better = [chance_of_as_much(mine, without) for _, mine, without in found]
        worse = [chance_of_as_much(without, mine) for _, mine, without in found]
        for place, (label, mine, without) in enumerate(found):
            rows.append(
                (
                    family,
                    label,
                    f"{len(mine)}, {len(without)}",
                    f"{np.mean(mine):.3f}",
                    f"{np.mean(without):.3f}",
                    f"{better[place]:.4f}",
                    f"{holm(better)[place]:.4f}",
                    f"{worse[place]:.4f}",
                    f"{holm(worse)[place]:.4f}",
                )
            )
    return rows


def _marked(cell: Cell, reference: Cell, groups: Sequence[list[dict[str, Any]]]) -> str:
    """The cell's name, with a mark if its results or the reference's are stale."""
    stale = changed(cell, groups[0]) or changed(reference, groups[1])
    return cell.name + (STALE if stale else "")
