"""Do the parts work? What a method logs of them, late in its runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.experiments.cell import Cell
from ilfo.experiments.results import marked, read_results

LATE = 4
"""The last one in so many iterations counts."""
COLUMNS = {
    "MMD": "mmd",
    "in the model": "imagined_mmd",
    "model loss": "model_loss",
    "bonus": "bonus",
    "KL": "kl",
    "steps accepted": "accepted",
    "critic loss": "critic_loss",
    "ran away": "runaway_share",
}
"""What is told, and its name in a run's metrics."""


def part_rows(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """A row per cell: means over seeds and over the last quarter of the iterations. Of the MMD of
    real rollouts and that of the policy in the model, the second is the lower where the model is
    better to the policy than the world."""
    rows: list[tuple[str, ...]] = [("cell", "seeds", *COLUMNS)]
    for cell in cells:
        found = read_results(results, sweep, cell)
        if found:
            means = (_late_mean(found, name) for name in COLUMNS.values())
            rows.append((marked(cell, found), str(len(found)), *means))
    return rows


def _late_mean(found: Sequence[dict[str, Any]], name: str) -> str:
    """A dash where the method has no such part."""
    late = [row.get(name) for each in found for row in each["curve"][-_quarter(each) :]]
    known = [value for value in late if value is not None]
    return f"{np.mean(known):.2g}" if known else "-"


def _quarter(result: dict[str, Any]) -> int:
    return max(1, len(result["curve"]) // LATE)
