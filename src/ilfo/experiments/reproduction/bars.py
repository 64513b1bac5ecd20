"""Bars of the best policies, beside the paper's numbers (figures 1 and 2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.common.statistics import interval
from ilfo.experiments.lines import FEW
from ilfo.experiments.reproduction.exhibit import Measured, Rows, by_panel
from ilfo.experiments.reproduction.published import Score, published
from ilfo.experiments.reproduction.style import add_legend, colour

HEADER = (
    "task",
    "method",
    "seeds",
    "best by true return",
    "low",
    "high",
    "chosen without the reward",
    "paper",
)
GROUP = 0.84
"""Share of a group's place that its bars take."""


def bar_rows(measured: Sequence[Measured]) -> Rows:
    """Means over seeds: the best policy by true return, as the paper has it, and the policy that
    is chosen without the reward."""
    rows: Rows = [HEADER]
    for each in measured:
        if each.records:
            best = each.best
            low, high = (f"{value:.3f}" for value in _bounds(best))
            chosen = np.mean([record["result"]["greedy_score"] for record in each.records])
            said = _published(each)
            rows.append(
                (
                    each.panel,
                    each.marked,
                    str(len(best)),
                    f"{np.mean(best):.3f}",
                    low,
                    high,
                    f"{chosen:.3f}",
                    "" if said is None else str(said),
                )
            )
    return rows


def draw_bars(measured: Sequence[Measured]) -> Any:
    """A group of bars per task; diamonds are the paper's numbers, dots our seeds."""
    tasks = list(dict.fromkeys(each.panel for each in measured))
    labels = list(dict.fromkeys(each.label for each in measured))
    figure = make_figure(max(1.2 + 2.1 * len(tasks), 8), 4.6)
    axis = figure.subplots()
    axis.axhline(1, color="black", linestyle="--", linewidth=1, label="expert")
    width = GROUP / len(labels)
    named: set[str] = set()
    for each in measured:
        if not each.records:
            continue
        place = tasks.index(each.panel) - GROUP / 2 + (labels.index(each.label) + 0.5) * width
        best = each.best
        mean, (low, high) = float(np.mean(best)), _bounds(best)
        axis.bar(
            place,
            mean,
            0.9 * width,
            color=colour(each.label, labels.index(each.label)),
            hatch="//" if each.stale else None,
            edgecolor="white",
            label=None if each.marked in named else each.marked,
            yerr=[[mean - low], [high - mean]],
            error_kw={"capsize": 3, "linewidth": 1},
        )
        named.add(each.marked)
        axis.plot([place] * len(best), best, ".", color="0.2", markersize=3)
        _draw_published(axis, place, _published(each), first="paper" not in named)
        if _published(each) is not None:
            named.add("paper")
    for place, (_, group) in enumerate(by_panel(measured).items()):
        if not any(each.records for each in group):
            axis.text(place, 0.5, "no results yet", ha="center")
    axis.set_xticks(range(len(tasks)), tasks)
    axis.set(ylabel="score of the best policy by true return")
    add_legend(figure)
    return figure


def _draw_published(axis: Any, place: float, said: Score | None, *, first: bool) -> None:
    if said is not None:
        axis.errorbar(
            place,
            said.mean,
            yerr=said.deviation,
            fmt="D",
            color="black",
            markerfacecolor="white",
            markersize=5,
            linewidth=1,
            label="paper ± standard deviation" if first else None,
        )


def _published(each: Measured) -> Score | None:
    shown = each.records[0]["summary"]["demonstrations"]["trajectories"]
    return published(str(each.series.cell.spec.task), each.label, shown)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean, or the range of few seeds."""
    return interval(values) if len(values) >= FEW else (min(values), max(values))
