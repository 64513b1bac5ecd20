"""Plots of a sweep: learning curves over environment steps and over seconds, their running maxima,
and a bar per cell."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.common.statistics import interval
from ilfo.experiments.cell import Cell
from ilfo.experiments.lines import Line, greedy_line, running_line
from ilfo.experiments.results import read_results
from ilfo.experiments.runner import SWEEPS

PANELS = 3
"""Number of panels in a row."""
COLUMNS = 6
"""Number of names in a row of the legend."""
STYLES = ("-", "--", ":")
"""Of the first ten cells, which have ten colours, of the next ten, and so on."""
STEPS = "environment steps (thousands)"
DEFAULT = "default"
"""Label of the cell whose name the others of its task begin with."""


def draw_sweep(sweep: str, cells: Sequence[Cell], results: Path, out: Path) -> list[Path]:
    """Write four PNG files to the directory `out` and return their paths; overwrites nothing."""
    groups = _by_task(sweep, cells, results)
    if not groups:
        raise ValueError(
            f"{results / sweep} holds no results of these cells yet; run them with "
            f"`ilfo bench run {sweep}`"
        )
    pictures = {
        "curves": _draw_curves,
        "running-max": _draw_running,
        "bars": _draw_bars,
        "seconds": _draw_seconds,
    }
    paths = [out / f"{sweep}-{name}.png" for name in pictures]
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another directory")
    for path, draw in zip(paths, pictures.values(), strict=True):
        rows = -(-len(groups) // PANELS)
        columns = min(PANELS, len(groups))
        figure = make_figure(5 * columns, 3.6 * rows)
        axes = figure.subplots(rows, columns, squeeze=False)
        for unused in axes.ravel()[len(groups) :]:
            unused.set_visible(False)
        for axis, (task, cells_of_task) in zip(axes.ravel(), groups.items(), strict=False):
            axis.axhline(1, color="black", linestyle="--", linewidth=1)
            axis.set(title=task)
            draw(axis, cells_of_task)
        _add_legend(figure)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
    return paths


def _by_task(
    sweep: str, cells: Sequence[Cell], results: Path
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Results by task (or environment) and cell, for cells that have any."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    known = SWEEPS.get(sweep, cells)
    for cell in cells:
        records = read_results(results, sweep, cell)
        if records:
            task = _task(cell)
            groups.setdefault(task, {})[_variant(cell.name, _whole(task, known))] = records
    return groups


def _task(cell: Cell) -> str:
    """Its task, or else its environment."""
    return cell.spec.task or str(cell.spec.env)


def _variant(name: str, whole: str) -> str:
    return DEFAULT if name == whole else name.removeprefix(f"{whole}-")


def _whole(task: str, cells: Sequence[Cell]) -> str:
    """What all names of a task's cells begin with: the task, or else the shortest of them."""
    names = [cell.name for cell in cells if _task(cell) == task]
    shortest = min(names, key=len)
    shared = all(name == shortest or name.startswith(f"{shortest}-") for name in names)
    return shortest if shared and not shortest.startswith(task) else task


def _add_legend(figure: Any) -> None:
    """One legend for all panels, below them; a cell has the same look in each."""
    lines = {
        line.get_label(): line
        for axis in figure.axes
        for line in axis.lines
        if not line.get_label().startswith("_")
    }
    if not lines:
        return
    places = {label: place for place, label in enumerate(lines)}
    for axis in figure.axes:
        for artist in (*axis.lines, *axis.collections, *axis.patches):
            place = places.get(artist.get_label().removeprefix("_band of "))
            if place is not None:
                artist.set_color(f"C{place % 10}")
            if place is not None and artist in axis.lines:
                artist.set_linestyle(STYLES[place // 10 % len(STYLES)])
    columns = min(len(lines), COLUMNS)
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=columns)


def _draw_curves(axis: Any, by_cell: dict[str, list[dict[str, Any]]]) -> None:
    _draw_lines(axis, {name: greedy_line(records) for name, records in by_cell.items()})
    axis.set(xlabel=STEPS, ylabel="greedy score")


def _draw_seconds(axis: Any, by_cell: dict[str, list[dict[str, Any]]]) -> None:
    lines = {name: greedy_line(records, over="seconds") for name, records in by_cell.items()}
    _draw_lines(axis, lines, unit=1)
    axis.set(xlabel="seconds of training", ylabel="greedy score", xscale="log")


def _draw_running(axis: Any, by_cell: dict[str, list[dict[str, Any]]]) -> None:
    _draw_lines(axis, {name: running_line(records) for name, records in by_cell.items()})
    axis.set(xlabel=STEPS, ylabel="best greedy score so far")


def _draw_lines(axis: Any, lines: Mapping[str, Line | None], unit: float = 1000) -> None:
    for name, line in lines.items():
        if line is not None:
            draw_line(axis, line, name, unit)


def draw_line(axis: Any, line: Line, name: str, unit: float = 1000, **style: Any) -> None:
    """A curve with its interval; a flat line for a method without online samples. The axis counts
    in `unit` steps."""
    band = {"alpha": 0.2, "linewidth": 0, "label": f"_band of {name}"}
    if "color" in style:
        band["color"] = style["color"]
    if line.flat:
        axis.axhline(line.mean[0], label=name, **style)
        if line.low is not None and line.high is not None:
            axis.axhspan(line.low[0], line.high[0], **band)
        return
    places = line.places / unit
    axis.plot(places, line.mean, label=name, **style)
    if line.low is not None:
        axis.fill_between(places, line.low, line.high, **band)


def _draw_bars(axis: Any, by_cell: dict[str, list[dict[str, Any]]]) -> None:
    for place, (_, records) in enumerate(by_cell.items()):
        scores = [record["result"]["greedy_score"] for record in records]
        low, high = interval(scores)
        mean = float(np.mean(scores))
        axis.bar(place, mean, yerr=[[mean - low], [high - mean]], capsize=3)
        axis.plot([place] * len(scores), scores, "k.", markersize=3)
    axis.set_xticks(range(len(by_cell)), by_cell, rotation=45, ha="right", fontsize="small")
    axis.set(ylabel="score of the chosen policy")
