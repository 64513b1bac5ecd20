"""The figures of reports, as SVG or in files; they need the extra `report`."""

import io
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.agents.sight import Sight
from ilfo.common.figures import make_figure
from ilfo.common.statistics import interval, on_grid
from ilfo.reports.groups import Group
from ilfo.reports.measures import differences
from ilfo.storage.atomic import atomic

FEW = 3
"""Seeds below which the range is drawn instead of an interval."""
BAND = 500
"""Bootstrap samples per point of a curve."""
DIMENSIONS, COLUMNS, BINS = 24, 4, 40
"""Histograms at most, in a row, and bins of each."""
LABEL = 40
"""Characters in a line of a legend."""
EXPERT, LEARNER, RANDOM = "0.35", "C3", "C0"


def comparison_figure(groups: Sequence[Group]) -> Any:
    """Returns and MMD of all groups, a row of panels for each environment."""
    environments = list(dict.fromkeys(group.environment for group in groups))
    figure = make_figure(10, 3.6 * len(environments))
    axes = figure.subplots(len(environments), 2, squeeze=False)
    for (left, right), environment in zip(axes, environments, strict=True):
        here = [group for group in groups if group.environment == environment]
        steps = any(map(_takes_steps, here))
        for place, group in enumerate(here):
            label, colour = textwrap.fill(group.label, LABEL), f"C{place % 10}"
            if steps and not _takes_steps(group):
                _level(left, group, colour, f"{label} (takes no steps)")
                continue
            _band(left, group.curves("greedy_return"), colour, label)
            _band(right, group.curves("mmd"), colour, label)
        runs = [run for group in here for run in group.runs]
        level = runs[0].expert_return
        if level is not None:
            left.axhline(level, color="black", linestyle="--", linewidth=1, label="expert")
        chance = next((run.random_return for run in runs if run.random_return is not None), None)
        if chance is not None:  # whole scores are in sight, and noise looks as small as it is
            left.axhline(chance, color="0.5", linestyle=":", linewidth=1, label="random actions")
        left.margins(y=0.08)
        _floors(right, here)
        left.set(title=environment, ylabel="greedy return")
        right.set(title=environment, ylabel="MMD to the demonstrations", ylim=(0, None))
        for axis in (left, right):
            axis.set(xlabel="environment steps" if steps else "iterations")
            if axis.has_data():
                axis.legend(fontsize="small").set_in_layout(False)  # however long its texts are
            else:
                axis.set_visible(False)
    return figure


def distribution_figure(expert: np.ndarray, learner: np.ndarray, names: Sequence[str]) -> Any:
    """Histograms of every dimension of demonstrated (n, S) and visited (m, S) states, laid over
    each other; of the first 24 dimensions."""
    return _histograms(expert, learner, "learner", LEARNER, names)


def examination_figure(
    recorded: np.ndarray,
    sight: Sight,
    limits: tuple[np.ndarray, np.ndarray] | None,
    names: Sequence[str],
) -> Any:
    """Recorded states (n, S) over what the environment shows: its states under random actions,
    those after a reset as ticks, and the limits of its observation space as dashed lines."""
    figure = _histograms(recorded, sight.visited, "random actions", RANDOM, names)
    for place, axis in enumerate(figure.axes[: recorded.shape[1]]):
        if not axis.get_visible():
            continue
        resets = sight.resets[:, place]
        ticks = {"marker": "|", "linestyle": "", "color": RANDOM}
        axis.plot(resets, np.zeros_like(resets), transform=axis.get_xaxis_transform(), **ticks)
        left, right = axis.get_xlim()
        for limit in () if limits is None else (limits[0][place], limits[1][place]):
            if left - (right - left) <= limit <= right + (right - left):
                axis.axvline(limit, color="black", linestyle="--", linewidth=1)
    return figure


def _histograms(
    recorded: np.ndarray, other: np.ndarray, label: str, colour: str, names: Sequence[str]
) -> Any:
    shown = min(recorded.shape[1], DIMENSIONS)
    columns = min(shown, COLUMNS)
    rows = -(-shown // columns)
    figure = make_figure(max(2.5 * columns, 5), 1.9 * rows + 0.4)
    axes = figure.subplots(rows, columns, squeeze=False)
    for unused in axes.ravel()[shown:]:
        unused.set_visible(False)
    for axis, name, ours, theirs in zip(
        axes.ravel(), names, recorded.T[:shown], other.T[:shown], strict=False
    ):
        edges = np.histogram_bin_edges(np.concatenate([ours, theirs]), BINS)
        axis.hist(ours, edges, density=True, color=EXPERT, alpha=0.5, label="recorded")
        axis.hist(theirs, edges, density=True, color=colour, histtype="step", label=label)
        axis.set(yticks=[])
        axis.set_title(name, fontsize="small")
        axis.tick_params(labelsize="x-small")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def as_svg(draw: Callable[[], Any]) -> str:
    """A figure as the text of an SVG."""
    figure, file = draw(), io.StringIO()
    from matplotlib import rc_context

    # without a date, and with names that do not change, the same figure is the same text
    with rc_context({"svg.hashsalt": "ilfo"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure to a file, in the format of its suffix."""
    with atomic(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=120)


def _floors(axis: Any, groups: Sequence[Group]) -> None:
    """The noise floor: one for all, or each in the colour of its MMD where those differ."""
    known = {place: curves for place, g in enumerate(groups) if (curves := g.curves("mmd_floor"))}
    if not differences(groups):
        together = [curve for curves in known.values() for curve in curves]
        _band(axis, together, "black", "noise floor", style=":")
        return
    for place, curves in known.items():
        _band(axis, curves, f"C{place % 10}", "_", style=":")  # none of its own in the legend
    if known:
        axis.plot([], [], ":", color="black", label="noise floors, each in its colour")


def _takes_steps(group: Group) -> bool:
    """Whether its method acts in the environment to learn."""
    return any(run.online_samples for run in group.runs)


def _level(axis: Any, group: Group, colour: str, label: str) -> None:
    """The return of the chosen policies, or the last one before a run has ended, where its curve
    has no place on the axis."""
    last = [curve[-1, 1] for curve in group.curves("greedy_return") if len(curve)]
    if returns := group.finals("greedy_return") or last:
        level = float(np.mean(returns))
        axis.axhline(level, color=colour, linestyle="-.", linewidth=1, label=label)


def _band(axis: Any, curves: Sequence[np.ndarray], colour: str, label: str, style="-") -> None:
    """Mean over seeds, with its 95 % interval, or with the range of few seeds."""
    if not curves:
        return
    places, values = on_grid(curves)
    axis.plot(places, values.mean(0), style, color=colour, label=label)
    if len(values) < FEW:
        low, high = values.min(0), values.max(0)
    else:
        low, high = np.transpose([interval(column, draws=BAND) for column in values.T])
    axis.fill_between(places, low, high, alpha=0.2, color=colour, linewidth=0)
