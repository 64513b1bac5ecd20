"""The sweep `conditions` as a table and as a picture: who survives what.

Scores are those of the chosen greedy policies. Beside each stands the distance of the learner's
states from the recorded ones in units of the noise floor, which is the expert's distance from
itself: 1 is as near as the expert's own episodes are, whatever return another body can reach.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.common.statistics import interval
from ilfo.experiments.diagnostics import late
from ilfo.experiments.results import read_results
from ilfo.experiments.runner import find_cells
from ilfo.experiments.stale import STALE, changed
from ilfo.experiments.sweeps.conditions import CONDITIONS, ON, cell_name, methods_of, possible

SWEEP = "conditions"
LABELS = {
    "": "MobILE",
    "none": "MobILE, none inferred",
    "bco": "BC-O",
    "gaifo": "GAIfO",
    "dacfo": "DACfO",
}
"""Of the methods, by the suffix of a cell's name."""
DISTANCE = "MMD / floor"
IMPOSSIBLE, MISSING = "cannot", "–"
"""Entries where a method cannot learn from such recordings, and where nothing was run."""
FEW = 3
"""Seeds below which no interval is shown."""


def records_of(results: Path, task: str, condition: str, method: str) -> list[dict[str, Any]]:
    """The results of a cell; none if it was not run or cannot be."""
    if not possible(task, condition, method):
        return []
    cell = find_cells(SWEEP, [cell_name(task, condition, method)])[0]
    return read_results(results, SWEEP, cell)


def condition_rows(task: str, results: Path) -> list[tuple[str, ...]]:
    """A header, then a row per condition of the task: score and distance of each method."""
    labels = [LABELS[method] for method in methods_of(task)]
    header = ("recordings", *(part for label in labels for part in (label, DISTANCE)))
    return [header, *(condition_row(task, condition, results) for condition in ON[task])]


def condition_row(task: str, condition: str, results: Path) -> tuple[str, ...]:
    """Label of the condition; score and distance of each method."""
    row = [CONDITIONS[condition].label]
    for method in methods_of(task):
        records = records_of(results, task, condition, method)
        row += [_score(task, condition, method, records), _distance(records)]
    return tuple(row)


def _score(task: str, condition: str, method: str, records: Sequence[dict[str, Any]]) -> str:
    if not records:
        return MISSING if possible(task, condition, method) else IMPOSSIBLE
    scores = [record["result"]["greedy_score"] for record in records]
    cell = find_cells(SWEEP, [cell_name(task, condition, method)])[0]
    mark = STALE if changed(cell, records) else ""
    if len(scores) < FEW:
        return f"{np.mean(scores):.2f} ({len(scores)} of {len(cell.seeds)} seeds){mark}"
    low, high = interval(scores)
    return f"{np.mean(scores):.2f} [{low:.2f}, {high:.2f}]{mark}"


def _distance(records: Sequence[dict[str, Any]]) -> str:
    """Late in the runs; a dash where a single demonstration does not tell the floor."""
    ratios = [distance_in_floors(record) for record in records]
    known = [ratio for ratio in ratios if ratio is not None]
    return f"{np.mean(known):.1f}" if known else MISSING


def distance_in_floors(record: dict[str, Any]) -> float | None:
    """Of a seed: mean MMD over mean noise floor, in the last part of training; None if there is no
    floor."""
    mmd, floor = (late([record], name) for name in ("mmd", "mmd_floor"))
    if not mmd or not floor or np.mean(floor) <= 0:
        return None
    return float(np.mean(mmd) / np.mean(floor))


def draw_conditions(results: Path, path: Path) -> Path:
    """Write the picture to a new PNG file: a panel per task, a row per condition, a column per
    method, scores as colours."""
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose another directory")
    grids = {task: _grid(task, results) for task in ON}
    if not any(np.isfinite(grid).any() for grid in grids.values()):
        raise ValueError(
            f"{results / SWEEP} holds no results yet; run cells with `ilfo bench run {SWEEP}`"
        )
    figure = make_figure(4.6 * len(grids), 4.8)
    axes = figure.subplots(1, len(grids))
    for axis, (task, grid) in zip(axes, grids.items(), strict=True):
        shown = _draw_grid(axis, task, grid)
    figure.colorbar(shown, ax=axes, label="greedy score; 1 is the expert", shrink=0.8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _grid(task: str, results: Path) -> np.ndarray:
    """Mean scores (conditions, methods); NaN where there are none."""
    grid = np.full((len(ON[task]), len(methods_of(task))), np.nan)
    for row, condition in enumerate(ON[task]):
        for column, method in enumerate(methods_of(task)):
            records = records_of(results, task, condition, method)
            if records:
                grid[row, column] = np.mean([each["result"]["greedy_score"] for each in records])
    return grid


def _draw_grid(axis: Any, task: str, grid: np.ndarray) -> Any:
    shown = axis.imshow(np.clip(grid, 0, 1), vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
    for row, condition in enumerate(ON[task]):
        for column, method in enumerate(methods_of(task)):
            value = grid[row, column]
            empty = MISSING if possible(task, condition, method) else IMPOSSIBLE
            text = empty if np.isnan(value) else f"{value:.2f}"
            axis.text(column, row, text, ha="center", va="center", fontsize="small")
    methods = [LABELS[method] for method in methods_of(task)]
    axis.set_xticks(range(len(methods)), methods, rotation=30, ha="right", fontsize="small")
    labels = [CONDITIONS[condition].label for condition in ON[task]]
    axis.set_yticks(range(len(labels)), labels, fontsize="small")
    axis.set(title=task)
    return shown
