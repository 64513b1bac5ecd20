"""What a score costs: online samples and seconds until the acting policy first has it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.experiments.cell import Cell
from ilfo.experiments.results import marked, on_grid, read_results, score_curve

HEADER = (
    "cell",
    "seeds",
    "that reach it",
    "median samples",
    "median seconds",
    "samples of the mean curve",
    "seconds per iteration",
    "seconds per seed",
    "GiB",
)


def effort_rows(
    sweep: str, cells: Sequence[Cell], results: Path, level: float
) -> list[tuple[str, ...]]:
    """A row per cell: when the greedy score first is at least `level`, seed by seed and for the
    mean over seeds; what an iteration takes, and a seed as a whole, measuring included; the most
    memory that any held."""
    rows: list[tuple[str, ...]] = [HEADER]
    for cell in cells:
        found = read_results(results, sweep, cell)
        if not found:
            continue
        first = [_first(each, level) for each in found]
        grid, scores = on_grid([score_curve(each) for each in found])
        together = grid[scores.mean(0) >= level]
        rows.append(
            (
                marked(cell, found),
                str(len(found)),
                str(sum(samples < np.inf for samples, _ in first)),
                *map(_median, zip(*first, strict=True)),
                f"{together[0]:.0f}" if len(together) else "-",
                f"{np.median([_per_iteration(each) for each in found]):.2f}",
                f"{np.median([each['summary']['seconds']['total'] for each in found]):.0f}",
                _most(each.get("peak_memory") for each in found),
            )
        )
    return rows


def _first(result: dict[str, Any], level: float) -> tuple[float, float]:
    """Samples and seconds at the first measured point of the curve that is high enough, infinite
    where there is none; the seconds are NaN in files that do not hold them yet."""
    measured = [row for row in result["curve"] if row["greedy_return"] is not None]
    for row, (samples, height) in zip(measured, score_curve(result), strict=True):
        if height >= level:
            return samples, row.get("seconds", np.nan)
    return np.inf, np.inf


def _median(values: Sequence[float]) -> str:
    """Over all seeds: a dash where half of them never get there."""
    median = np.median(values)
    return f"{median:.0f}" if np.isfinite(median) else "-"


def _most(memory: Iterable[float | None]) -> str:
    known = [each for each in memory if each is not None]
    return f"{max(known):.2f}" if known else "-"


def _per_iteration(result: dict[str, Any]) -> float:
    seconds = result["summary"]["seconds"]
    return (seconds["collect"] + seconds["improve"] + seconds["save"]) / len(result["curve"])
