"""Runs compared: one row per group, with intervals over seeds."""

from collections.abc import Sequence

import numpy as np

from ilfo.common.statistics import interval
from ilfo.reports.groups import Group


def comparison_table(groups: Sequence[Group]) -> tuple[list[str], list[list[str]]]:
    """The columns and a row for every group; without columns that say nothing."""
    rows = [_row(group) for group in groups]
    alike = len({group.environment for group in groups}) == 1
    kept = [
        name
        for name in rows[0]
        if not (alike and name == "environment") and any(row[name] != "-" for row in rows)
    ]
    return kept, [[row[name] for name in kept] for row in rows]


def _row(group: Group) -> dict[str, str]:
    return {
        "environment": group.environment,
        "runs": group.label if group.finished else f"{group.label} (not finished)",
        "seeds": str(len(group.members)),
        "steps": f"{group.online_samples:,}" if group.online_samples else "-",
        "greedy score": spread(group.finals("greedy_score")),
        "greedy return": spread(group.finals("greedy_return") or _last(group, "greedy_return")),
        "stochastic return": spread(
            group.finals("stochastic_return") or _last(group, "stochastic_return")
        ),
        "MMD": spread(group.finals("chosen_mmd")),
        "its floor": spread(group.finals("mmd_floor"), alone=True),
    }


def spread(values: Sequence[float], *, alone: bool = False) -> str:
    """The mean, with its 95 % bootstrap interval from three values on."""
    if not values:
        return "-"
    number = lambda value: f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    text = number(np.mean(values))
    if len(values) < 3 or alone:
        return text
    low, high = interval(values)
    return f"{text} [{number(low)}, {number(high)}]"


def _last(group: Group, name: str) -> list[float]:
    """Where runs are not finished: the last points of their curves."""
    return [float(curve[-1, 1]) for curve in group.curves(name)]
