"""The figure of learning curves of a run; needs the extra `report`."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.figures import AT_ONE_PLACE, make_figure
from ilfo.common.optional import MissingExtraError
from ilfo.storage.atomic import atomic

MARGIN = 0.08
"""Room above and below, so that the expert's line is not at the edge."""


def draw_curves(
    rows: Sequence[Mapping[str, Any]],
    expert_return: float | None,
    path: Path,
    random_return: float | None = None,
) -> bool:
    """Draw returns and MMD against environment steps, as mean and range over seeds.

    The returns of the expert and of random actions are lines where they are known: with them the
    axis shows whole scores, and noise looks as small as it is. For a method that takes no
    environment steps, returns and losses are drawn against iterations. Returns
    False if matplotlib is not installed; the numbers are in metrics.csv in any case.
    """
    try:
        figure = make_figure(11, 4)
    except MissingExtraError:
        return False
    left, right = figure.subplots(1, 2)
    online = not rows or any(row["online_samples"] for row in rows)
    over = "online_samples" if online else "iteration"
    for name, label in (("greedy_return", "greedy policy"), ("stochastic_return", "stochastic")):
        _band(left, rows, over, name, label)
    if expert_return is not None:
        left.axhline(expert_return, color="black", linestyle="--", linewidth=1, label="expert")
    if random_return is not None and math.isfinite(random_return):
        left.axhline(random_return, color="0.5", linestyle=":", linewidth=1, label="random actions")
    left.margins(y=MARGIN)
    if online:
        _band(right, rows, over, "mmd", "real rollouts")
        _band(right, rows, over, "imagined_mmd", "in the model")
        if any(row.get("mmd_floor") for row in rows):  # 0 for one recording, which shows none
            _band(right, rows, over, "mmd_floor", "noise floor: the expert against itself")
        right.set(ylabel="MMD to the demonstrations", ylim=(0, None))
    else:
        _band(right, rows, over, "loss", "trained on")
        _band(right, rows, over, "held_out_loss", "held out")
        right.set(ylabel="-log likelihood of the actions")
    left.set(ylabel="true return (not seen in training)")
    for axes in (left, right):
        axes.set(xlabel="online samples" if online else "iterations")
        if axes.has_data():  # matplotlib warns about an empty legend
            axes.legend()
    if note := _note(rows, online):
        figure.supxlabel(note, fontsize="small", color="0.35")
    with atomic(path) as file:
        figure.savefig(file, dpi=120, format="png")
    return True


def _note(rows: Sequence[Mapping[str, Any]], online: bool) -> str:
    """What lines and bands are; nothing where there is nothing to explain."""
    seeds, said = len({row["seed"] for row in rows}), []
    if seeds > 1:
        said.append(f"Lines: mean over {seeds} seeds. Bands: from the lowest seed to the highest.")
    if online and rows:
        said.append(AT_ONE_PLACE)
    return "\n".join(said)


def _band(axes, rows, over: str, name: str, label: str) -> None:
    known = [row for row in rows if row.get(name) is not None]
    places = sorted({row[over] for row in known})
    values = [[row[name] for row in known if row[over] == x] for x in places]
    if not values:
        return
    (line,) = axes.plot(places, [np.mean(v) for v in values], label=label)
    low, high = [min(v) for v in values], [max(v) for v in values]
    axes.fill_between(places, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
