"""Tables of a sweep's results, with bootstrap intervals over seeds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import result_files


def interval(values: Sequence[float], *, draws: int = 10_000) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean."""
    data = np.asarray(values, float)
    index = np.random.default_rng(0).integers(len(data), size=(draws, len(data)))
    low, high = np.percentile(data[index].mean(1), [2.5, 97.5])
    return float(low), float(high)


HEADER = ("cell", "seeds", "greedy score", "worst", "stochastic", "samples")
MEASURED = ("measured", "worst", "expert's")


def sweep_rows(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """A header, then a row per cell that has results: means with intervals, and the worst seed."""
    header = HEADER + (MEASURED if any(cell.measure for cell in cells) else ())
    rows = [header]
    for cell in cells:
        files = [path for path in result_files(results, sweep, cell) if path.exists()]
        if files:
            found = [json.loads(path.read_text()) for path in files]
            row = (cell.name, *_scores(found), *_measure(cell, found))
            rows.append(row + ("",) * (len(header) - len(row)))
    return rows


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """For a page of documentation."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def as_table(rows: Sequence[Sequence[str]]) -> Table:
    """For a terminal."""
    table = Table(*rows[0])
    for row in rows[1:]:
        table.add_row(*row)
    return table


def _scores(found: list[dict[str, Any]]) -> list[str]:
    column = lambda name: [each["result"][name] for each in found]
    return [
        str(len(found)),
        _spread(column("greedy_score")),
        f"{min(column('greedy_score')):.2f}",
        _spread(column("stochastic_score")),
        str(found[0]["summary"]["online_samples"]),
    ]


def _measure(cell: Cell, found: list[dict[str, Any]]) -> list[str]:
    """The cell's own number beside that of the demonstrations."""
    if cell.measure is None or cell.record is None:
        return []
    name = cell.measure.__name__
    values = [each["result"][name] for each in found]
    expert = np.mean([cell.measure(trajectory.states) for trajectory in cell.record()])
    return [f"{name} {_spread(values)}", f"{max(values):.2f}", f"{expert:.2f}"]


def _spread(values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"
