"""A picture of the exploration suite: where each λ has been in the lock and the maze."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.environments.maze import PLAN
from ilfo.experiments.cell import Cell
from ilfo.experiments.reproduction.exhibit import Measured, Series, by_panel
from ilfo.experiments.reproduction.origin import origin_line
from ilfo.experiments.reproduction.style import add_legend, add_origin
from ilfo.experiments.results import read_results
from ilfo.experiments.stale import changed

PICTURED = {"lock": ("position", "height"), "maze": ("x", "y")}
"""Tasks of the picture, and what the first two dimensions of their states are."""
SUFFIXES = ("-no-bonus", "", "-0.3")
"""Cells of each of them, by increasing λ."""


def draw_visits(sweep: str, cells: Sequence[Cell], results: Path) -> Any:
    """A matplotlib figure: a row per task, a column per λ, all seeds together."""
    measured = _visiting(sweep, {cell.name: cell for cell in cells}, results)
    by_task = by_panel(measured).items()
    rows = {task: row for task, row in by_task if any(each.records for each in row)}
    if not rows:
        raise ValueError(
            f"{results / sweep} holds no results that say where training has been; run "
            f"`ilfo bench run {sweep} {' '.join(PICTURED)}`"
        )
    figure = make_figure(4.2 * len(SUFFIXES), 3.5 * len(rows) + 0.9)
    axes = figure.subplots(len(rows), len(SUFFIXES), squeeze=False)
    for places, row in zip(axes, rows.values(), strict=True):
        most = max(_per_seed(each).max() for each in row if each.records)
        for axis, each in zip(places, row, strict=True):
            image = _draw_map(axis, each, most)
        figure.colorbar(image, ax=list(places), label="visits per seed")
    add_legend(figure)
    add_origin(figure, origin_line([each for row in rows.values() for each in row], results))
    return figure


def _visiting(sweep: str, known: Mapping[str, Cell], results: Path) -> list[Measured]:
    """The results that say where training has been, task by task and λ by λ."""
    measured = []
    for task in PICTURED:
        for cell in (known[task + suffix] for suffix in SUFFIXES):
            records = [each for each in read_results(results, sweep, cell) if "visits" in each]
            label = f"{task}, λ = {cell.spec.settings().weight:g}"
            series = Series(label, sweep, cell)
            measured.append(Measured(task, series, records, bool(changed(cell, records))))
    return measured


def _per_seed(each: Measured) -> np.ndarray:
    """Mean visits of each bin."""
    return np.mean([record["visits"] for record in each.records], axis=0)


def _draw_map(axis: Any, each: Measured, most: float) -> Any:
    """Visits of each bin on a logarithmic scale; what was never visited stays white."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    cell = each.series.cell
    assert cell.visits is not None
    (left, right, _), (low, high, _) = cell.visits
    across, up = PICTURED[each.panel]
    axis.set(xlabel=across, ylabel=up, xlim=(left, right), ylim=(low, high))
    norm = LogNorm(vmin=0.1, vmax=max(most, 1))
    if each.panel == "maze":
        _draw_walls(axis)
    if not each.records:
        axis.set(title=each.label)
        axis.text(0.5, 0.5, "no results yet", transform=axis.transAxes, ha="center")
        return ScalarMappable(norm, "viridis")
    count = len(each.records)
    steps = f"{cell.spec.total_timesteps:,}"
    axis.set(title=f"{each.marked}: {steps} steps, {count} seed{'s' if count > 1 else ''}")
    image = axis.imshow(
        np.ma.masked_equal(_per_seed(each).T, 0),
        origin="lower",
        extent=(left, right, low, high),
        aspect="auto",
        norm=norm,
        cmap="viridis",
        interpolation="nearest",
    )
    _draw_demonstrated(axis, cell)
    return image


def _draw_walls(axis: Any) -> None:
    for row, line in enumerate(PLAN):
        for column, mark in enumerate(line):
            if mark == "#":
                axis.fill_between([column, column + 1], row, row + 1, color="0.8", linewidth=0)


def _draw_demonstrated(axis: Any, cell: Cell) -> None:
    """The states of the first demonstration."""
    assert cell.record is not None
    states = next(iter(cell.record())).states
    style = {"color": "tab:red", "linewidth": 0.8, "markersize": 2.5}
    axis.plot(*states[:, :2].T, ".-", label="a demonstration", **style)
