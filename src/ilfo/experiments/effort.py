"""Effort to reach a score: environment steps and seconds until the policy first has it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.statistics import on_grid
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import read_results, score_curve
from ilfo.experiments.stale import marked

HEADER = (
    "cell",
    "seeds",
    "seeds that reach it",
    "median steps",
    "median seconds",
    "steps of the mean curve",
    "seconds per iteration",
    "seconds per seed",
    "peak memory (GiB)",
)


def effort_rows(
    sweep: str, cells: Sequence[Cell], results: Path, level: float
) -> list[tuple[str, ...]]:
    """A row per cell: environment steps and seconds until the greedy score is at least `level`.

    Medians are over seeds; `steps of the mean curve` refers to the mean score over seeds. Then the
    seconds of an iteration and of a whole seed, evaluation included, and the peak memory.
    """
    rows: list[tuple[str, ...]] = [HEADER]
    for cell in cells:
        records = read_results(results, sweep, cell)
        if not records:
            continue
        first = [_first(record, level) for record in records]
        grid, scores = on_grid([score_curve(record) for record in records])
        together = grid[scores.mean(0) >= level]
        rows.append(
            (
                marked(cell, records),
                str(len(records)),
                str(sum(samples < np.inf for samples, _ in first)),
                *map(_median, zip(*first, strict=True)),
                f"{together[0]:.0f}" if len(together) else "-",
                f"{np.median([_per_iteration(record) for record in records]):.2f}",
                f"{np.median([record['summary']['seconds']['total'] for record in records]):.0f}",
                _most(record.get("peak_memory") for record in records),
            )
        )
    return rows


def _first(result: dict[str, Any], level: float) -> tuple[float, float]:
    """Environment steps and seconds at the first point of the curve with at least this score;
    infinite if there is none. Seconds are NaN in old files that do not contain them."""
    measured = [row for row in result["curve"] if row["greedy_return"] is not None]
    for row, (samples, height) in zip(measured, score_curve(result), strict=True):
        if height >= level:
            return samples, row.get("seconds", np.nan)
    return np.inf, np.inf


def _median(values: Sequence[float]) -> str:
    """Over all seeds; a dash if half of them never reach the score."""
    median = np.median(values)
    return f"{median:.0f}" if np.isfinite(median) else "-"


def _most(memory: Iterable[float | None]) -> str:
    known = [size for size in memory if size is not None]
    return f"{max(known):.2f}" if known else "-"


def _per_iteration(result: dict[str, Any]) -> float:
    seconds = result["summary"]["seconds"]
    return (seconds["collect"] + seconds["improve"] + seconds["save"]) / len(result["curve"])
