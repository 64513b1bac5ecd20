"""Tables of scores, with bootstrap intervals over seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.statistics import interval
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import best_by_reward, read_results
from ilfo.experiments.stale import STALE, changed, marked
from ilfo.rollouts.scores import score

HEADER = (
    "cell",
    "seeds",
    "greedy score",
    "worst seed",
    "stochastic score",
    "best by true return",
    "environment steps",
)
MEASURED = ("metric", "metric of the worst seed", "metric of the expert")
FEW = 3
"""Number of seeds below which no interval is shown."""


def sweep_rows(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """A header, then a row per cell with results: means with intervals, and the worst seed.

    Policies chosen by another rule have their own rows. The expert and a random policy of each
    environment come last. Stale rows are marked.
    """
    header = HEADER + (MEASURED if any(cell.measure for cell in cells) else ())
    rows: list[tuple[str, ...]] = [header]
    references: dict[str, dict[str, Any]] = {}
    for cell in cells:
        records = read_results(results, sweep, cell)
        if records:
            rows.append((marked(cell, records), *_scores(records), *_measure(cell, records)))
            rows += _alternatives(cell, records)
            references.setdefault(records[0]["summary"]["env"], records[0]["summary"])
    rows += [row for summary in references.values() for row in _references(summary)]
    return [row + ("",) * (len(header) - len(row)) for row in rows]


def stale_note(sweep: str, cells: Sequence[Cell], results: Path) -> str | None:
    """The note below a table with stale rows; None if there are none."""
    names = {name for cell in cells for name in changed(cell, read_results(results, sweep, cell))}
    if not names:
        return None
    return (
        f"{STALE} recorded with other settings than the cell has now, or before these settings "
        f"existed: {', '.join(sorted(names))}. To compare, run the cell again, with another "
        "directory for results."
    )


def _alternatives(cell: Cell, records: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of the policies that other rules chose in the same runs."""
    mark = marked(cell, records).removeprefix(cell.name)
    rules = [other["rule"] for other in records[0]["result"].get("alternatives", ())]
    return [
        (
            f"{cell.name} ({rule}){mark}",
            *_scores(
                [record | {"result": record["result"]["alternatives"][index]} for record in records]
            ),
        )
        for index, rule in enumerate(rules)
    ]


def _references(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    expert, chance = summary["expert_return"], summary["random_return"]
    if expert is None:
        return []
    scores = {"expert": score(expert, expert, chance), "random": score(chance, expert, chance)}
    return [
        (f"{name} of {summary['env']}", "", "-" if value is None else f"{value:.2f}")
        for name, value in scores.items()
    ]


def _scores(records: list[dict[str, Any]]) -> list[str]:
    column = lambda name: [record["result"][name] for record in records]
    return [
        str(len(records)),
        _spread(column("greedy_score")),
        f"{min(column('greedy_score')):.2f}",
        _spread(column("stochastic_score")),
        _best(records),
        str(records[0]["summary"]["online_samples"]),
    ]


def _best(records: list[dict[str, Any]]) -> str:
    best = [value for value in map(best_by_reward, records) if value is not None]
    return _spread(best) if best else ""


def _measure(cell: Cell, records: list[dict[str, Any]]) -> list[str]:
    """The cell's own metric: all seeds, the worst seed, and the demonstrations."""
    if cell.measure is None or cell.record is None:
        return []
    name = cell.measure.__name__
    values = [record["result"][name] for record in records]
    expert = np.mean([cell.measure(trajectory.states) for trajectory in cell.record()])
    return [f"{name} {_spread(values)}", f"{max(values):.2f}", f"{expert:.2f}"]


def _spread(values: Sequence[float]) -> str:
    if len(values) < FEW:
        return f"{np.mean(values):.2f}"
    low, high = interval(values)
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"
