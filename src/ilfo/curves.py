"""The learning-curve picture of a run (extra `report`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def draw_curves(rows: Sequence[Mapping[str, Any]], expert_return: float | None, path: Path) -> bool:
    """Returns and MMD against online samples, mean and range over seeds. False without
    matplotlib: the numbers are in metrics.csv anyway."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for name, label in (("greedy_return", "greedy policy"), ("stochastic_return", "stochastic")):
        _band(left, rows, name, label)
    if expert_return is not None:
        left.axhline(expert_return, color="black", linestyle="--", linewidth=1, label="expert")
    _band(right, rows, "mmd", "real rollouts")
    _band(right, rows, "imagined_mmd", "in the model")
    left.set(xlabel="online samples", ylabel="true return (not seen in training)")
    right.set(xlabel="online samples", ylabel="MMD to the demonstrations", ylim=(0, None))
    for axes in (left, right):
        if axes.has_data():  # an empty legend is a warning
            axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return True


def _band(axes, rows, name: str, label: str) -> None:
    known = [row for row in rows if row.get(name) is not None]
    samples = sorted({row["online_samples"] for row in known})
    values = [[row[name] for row in known if row["online_samples"] == x] for x in samples]
    if not values:
        return
    (line,) = axes.plot(samples, [np.mean(v) for v in values], label=label)
    low, high = [min(v) for v in values], [max(v) for v in values]
    axes.fill_between(samples, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
