"""Tables of a sweep's results, with bootstrap intervals over seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.statistics import interval
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import STALE, best_by_reward, changed, marked, read_results
from ilfo.rollouts.scores import score

HEADER = ("cell", "seeds", "greedy score", "worst", "stochastic", "best by reward", "samples")
FEW = 3
"""Seeds below which an interval would say nothing."""
MEASURED = ("measured", "worst", "expert's")


def sweep_rows(sweep: str, cells: Sequence[Cell], results: Path) -> list[tuple[str, ...]]:
    """A header, then a row per cell that has results: means with intervals, and the worst seed.

    Policies that were chosen by another rule as well have a row of their own. The expert and a
    random policy come last, for every environment. Rows that other settings made have a mark.
    """
    header = HEADER + (MEASURED if any(cell.measure for cell in cells) else ())
    rows: list[tuple[str, ...]] = [header]
    references: dict[str, dict[str, Any]] = {}
    for cell in cells:
        found = read_results(results, sweep, cell)
        if found:
            rows.append((marked(cell, found), *_scores(found), *_measure(cell, found)))
            rows += _alternatives(cell, found)
            references.setdefault(found[0]["summary"]["env"], found[0]["summary"])
    rows += [row for summary in references.values() for row in _references(summary)]
    return [row + ("",) * (len(header) - len(row)) for row in rows]


def stale_note(sweep: str, cells: Sequence[Cell], results: Path) -> str | None:
    """The sentence below a table that has marked rows."""
    names = {name for cell in cells for name in changed(cell, read_results(results, sweep, cell))}
    if not names:
        return None
    return (
        f"{STALE} made with other settings than the cell has now, or before there were such "
        f"settings ({', '.join(sorted(names))}); run it again, into another folder, to compare"
    )


def _alternatives(cell: Cell, found: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of the policies that other rules have chosen in the same runs."""
    mark = marked(cell, found).removeprefix(cell.name)
    rules = [each["rule"] for each in found[0]["result"].get("alternatives", ())]
    return [
        (
            f"{cell.name} ({rule}){mark}",
            *_scores([each | {"result": each["result"]["alternatives"][i]} for each in found]),
        )
        for i, rule in enumerate(rules)
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


def _scores(found: list[dict[str, Any]]) -> list[str]:
    column = lambda name: [each["result"][name] for each in found]
    return [
        str(len(found)),
        _spread(column("greedy_score")),
        f"{min(column('greedy_score')):.2f}",
        _spread(column("stochastic_score")),
        _best(found),
        str(found[0]["summary"]["online_samples"]),
    ]


def _best(found: list[dict[str, Any]]) -> str:
    best = [each for each in map(best_by_reward, found) if each is not None]
    return _spread(best) if best else ""


def _measure(cell: Cell, found: list[dict[str, Any]]) -> list[str]:
    """The cell's own number beside that of the demonstrations."""
    if cell.measure is None or cell.record is None:
        return []
    name = cell.measure.__name__
    values = [each["result"][name] for each in found]
    expert = np.mean([cell.measure(trajectory.states) for trajectory in cell.record()])
    return [f"{name} {_spread(values)}", f"{max(values):.2f}", f"{expert:.2f}"]


def _spread(values: Sequence[float]) -> str:
    if len(values) < FEW:
        return f"{np.mean(values):.2f}"
    low, high = interval(values)
    return f"{np.mean(values):.2f} [{low:.2f}, {high:.2f}]"
