"""Learning curves and running maxima (figures 2 to 7)."""

from collections.abc import Callable, Sequence
from typing import Any

from ilfo.experiments.lines import Line, greedy_line, running_line
from ilfo.experiments.plots import STEPS, draw_line
from ilfo.experiments.reproduction.exhibit import Measured, Rows, by_panel
from ilfo.experiments.reproduction.style import add_legend, line_style, panels

HEADER = ("panel", "series", "seeds", "environment steps", "mean score", "low", "high")
MANY = 6
"""Times as many steps in the longest curve of a panel as in the shortest, from which the axis is
logarithmic."""


def curve_rows(measured: Sequence[Measured]) -> Rows:
    """The points of the learning curves."""
    return _rows(measured, greedy_line)


def running_rows(measured: Sequence[Measured]) -> Rows:
    """The points of the running maxima."""
    return _rows(measured, running_line)


def draw_curves(measured: Sequence[Measured]) -> Any:
    """Greedy score over environment steps, a panel per task."""
    return _draw(measured, greedy_line, "greedy score")


def draw_running(measured: Sequence[Measured]) -> Any:
    """Best greedy score so far over environment steps, a panel per task."""
    return _draw(measured, running_line, "best greedy score so far")


def _rows(measured: Sequence[Measured], line_of: Callable[..., Line | None]) -> Rows:
    rows: Rows = [HEADER]
    for each in measured:
        line = line_of(each.records)
        if line is None:
            continue
        for place, mean in enumerate(line.mean):
            steps = "" if line.flat else f"{line.places[place]:.0f}"
            bounds = (
                "" if side is None else f"{side[place]:.4f}" for side in (line.low, line.high)
            )
            row = (each.panel, each.marked, str(line.seeds), steps, f"{mean:.4f}", *bounds)
            rows.append(row)
    return rows


def _draw(measured: Sequence[Measured], line_of: Callable[..., Line | None], ylabel: str) -> Any:
    groups = by_panel(measured)
    figure, axes = panels(list(groups))
    for panel, group in groups.items():
        axis, ends = axes[panel], []
        for place, each in enumerate(group):
            line = line_of(each.records)
            if line is None:
                continue
            style = line_style(each.label, place, stale=each.stale)
            draw_line(axis, line, each.marked, **style)
            if not line.flat:
                ends.append(line.places[-1])
        axis.set(xlabel=STEPS, ylabel=ylabel)
        if not any(each.records for each in group):
            axis.set(xticks=[], yticks=[])
            axis.text(0.5, 0.5, "no results yet", transform=axis.transAxes, ha="center")
        elif ends and max(ends) > MANY * min(ends):
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter("{x:g}")
    add_legend(figure)
    return figure
