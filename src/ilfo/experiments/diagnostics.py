"""Diagnostics of the components: logged metrics, averaged over the last part of training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.experiments.cell import Cell
from ilfo.experiments.results import read_results
from ilfo.experiments.stale import marked

LATE = 4
"""The last 1/LATE of the iterations counts."""
COLUMNS = {
    "MMD": "mmd",
    "noise floor": "mmd_floor",
    "imagined MMD": "imagined_mmd",
    "model loss": "model_loss",
    "bonus": "bonus",
    "KL": "kl",
    "accepted updates": "accepted",
    "critic loss": "critic_loss",
    "runaway rollouts": "runaway_share",
}
"""Table headings, and the names of the metrics in result files."""


def part_rows(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """A row per cell: means over seeds and over the last quarter of the iterations.

    `MMD` is that of real rollouts, `imagined MMD` that of rollouts in the model. If the
    imagined one is lower, the policy imitates better in the model than in the environment.
    """
    rows: list[tuple[str, ...]] = [("cell", "seeds", *COLUMNS)]
    for cell in cells:
        records = read_results(results, sweep, cell)
        if records:
            means = (_late_mean(records, name) for name in COLUMNS.values())
            rows.append((marked(cell, records), str(len(records)), *means))
    return rows


def late(records: Sequence[dict[str, Any]], name: str) -> list[float]:
    """The values of a metric in the last part of training; none if the method does not log it."""
    rows = [row.get(name) for record in records for row in record["curve"][-_quarter(record) :]]
    return [value for value in rows if value is not None]


def _late_mean(records: Sequence[dict[str, Any]], name: str) -> str:
    """A dash if the method does not log this metric."""
    known = late(records, name)
    return f"{np.mean(known):.2g}" if known else "-"


def _quarter(result: dict[str, Any]) -> int:
    return max(1, len(result["curve"]) // LATE)
