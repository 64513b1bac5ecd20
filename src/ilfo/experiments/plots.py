"""Pictures of a sweep: learning curves, their running maxima, and a bar per cell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.common.statistics import interval
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import best_by_reward, on_grid, read_results, score_curve

PANELS = 3
"""Side by side in a row."""
BAND = 500
"""Bootstrap draws per point of a curve."""


def draw_sweep(sweep: str, cells: Sequence[Cell], results: Path, out: Path) -> list[Path]:
    """Write three pictures into a folder and return their paths; nothing is overwritten."""
    groups = _by_task(sweep, cells, results)
    if not groups:
        raise ValueError(f"{results / sweep} holds no results of these cells yet")
    paths = [out / f"{sweep}-{name}.png" for name in ("curves", "running-max", "bars")]
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another folder")
    with needed_from("report", "a picture"):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    out.mkdir(parents=True, exist_ok=True)
    for path, draw in zip(paths, (_draw_curves, _draw_running, _draw_bars), strict=True):
        rows = -(-len(groups) // PANELS)
        figure, axes = pyplot.subplots(
            rows,
            min(PANELS, len(groups)),
            figsize=(5 * min(PANELS, len(groups)), 3.6 * rows),
            layout="constrained",
            squeeze=False,
        )
        for unused in axes.ravel()[len(groups) :]:
            unused.set_visible(False)
        for axis, (task, found) in zip(axes.ravel(), groups.items(), strict=False):
            axis.axhline(1, color="black", linestyle="--", linewidth=1)
            axis.set(title=task)
            draw(axis, found)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)
    return paths


def _by_task(
    sweep: str, cells: Sequence[Cell], results: Path
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Results of each cell that has any, under the task or environment that it learns in."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell in cells:
        found = read_results(results, sweep, cell)
        if found:
            task = cell.spec.task or str(cell.spec.env)
            groups.setdefault(task, {})[cell.name.removeprefix(f"{task}-")] = found
    return groups


def _draw_curves(axis: Any, found: dict[str, list[dict[str, Any]]]) -> None:
    _draw_lines(axis, found, lambda scores: scores, lambda each: each["result"]["greedy_score"])
    axis.set(xlabel="thousand online samples", ylabel="greedy score")


def _draw_running(axis: Any, found: dict[str, list[dict[str, Any]]]) -> None:
    _draw_lines(axis, found, lambda scores: np.maximum.accumulate(scores, axis=1), best_by_reward)
    axis.set(xlabel="thousand online samples", ylabel="best greedy score so far")


def _draw_lines(
    axis: Any, found: dict[str, list[dict[str, Any]]], transform: Any, level: Any
) -> None:
    """A curve with its band per cell; a flat line at `level` for a method without samples."""
    for place, (name, results) in enumerate(found.items()):
        curves = [curve for curve in map(score_curve, results) if len(curve)]
        if not curves:
            continue
        color, label = f"C{place}", f"{name} ({len(curves)})"
        if not any(curve[:, 0].any() for curve in curves):
            levels = [level(each) for each in results if len(score_curve(each))]
            axis.axhline(np.mean(levels), color=color, label=label)
            axis.axhspan(*interval(levels, draws=BAND), alpha=0.2, color=color, linewidth=0)
            continue
        samples, scores = on_grid(curves)
        values = transform(scores)
        thousands = samples / 1000
        axis.plot(thousands, values.mean(0), color=color, label=label)
        bounds = [interval(column, draws=BAND) for column in values.T]
        low, high = zip(*bounds, strict=True)
        axis.fill_between(thousands, low, high, alpha=0.2, color=color, linewidth=0)
    axis.legend(fontsize="small")


def _draw_bars(axis: Any, found: dict[str, list[dict[str, Any]]]) -> None:
    for place, (_, results) in enumerate(found.items()):
        scores = [each["result"]["greedy_score"] for each in results]
        low, high = interval(scores)
        mean = float(np.mean(scores))
        axis.bar(place, mean, yerr=[[mean - low], [high - mean]], capsize=3)
        axis.plot([place] * len(scores), scores, "k.", markersize=3)
    axis.set_xticks(range(len(found)), found, rotation=45, ha="right", fontsize="small")
    axis.set(ylabel="score of the chosen policy")
