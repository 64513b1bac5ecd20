"""The figure of learning curves of a run; needs the extra `report`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.common.optional import MissingExtraError
from ilfo.storage.atomic import atomic


def draw_curves(rows: Sequence[Mapping[str, Any]], expert_return: float | None, path: Path) -> bool:
    """Draw returns and MMD against environment steps, as mean and range over seeds.

    For a method that takes no environment steps, returns and losses against iterations. Returns
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
    if online:
        _band(right, rows, over, "mmd", "real rollouts")
        _band(right, rows, over, "imagined_mmd", "in the model")
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
    with atomic(path) as file:
        figure.savefig(file, dpi=120, format="png")
    return True


def _band(axes, rows, over: str, name: str, label: str) -> None:
    known = [row for row in rows if row.get(name) is not None]
    places = sorted({row[over] for row in known})
    values = [[row[name] for row in known if row[over] == x] for x in places]
    if not values:
        return
    (line,) = axes.plot(places, [np.mean(v) for v in values], label=label)
    low, high = [min(v) for v in values], [max(v) for v in values]
    axes.fill_between(places, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
