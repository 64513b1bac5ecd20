"""The tables of the page 'Where we stand': published numbers, and ours from `results/`.

Used like `tables.py`. Published numbers are kept here, with where they are from.
"""

from typing import NamedTuple

import tables

from ilfo.environments.tasks import TASKS
from ilfo.experiments.runner import find_sweep


class Published(NamedTuple):
    """A published number on one of Gymnasium's own tasks."""

    task: str
    environment: str
    method: str
    demonstrations: str
    sees: str
    result: str


KEPT = "version not recorded"
UNNAMED = "method not recorded"
BOTH = "states and actions"
STOCK = (
    Published("Hopper", "Hopper-v5", "f-IRL", "1", "states", "0.95 at 270,000"),
    Published("Hopper", "Hopper-v5", "SOAR, its best clip", "1", "states", "0.95 at 165,000"),
    Published("Hopper", KEPT, "OPT-AIL, ML-IRL", "16", "states", "0.95 at 465,000 to 565,000"),
    Published("Hopper", KEPT, "MB-AIL", "64", BOTH, "0.95 at 60,000"),
    Published("Walker2d", KEPT, UNNAMED, "at most 16", "states", "0.82 at 1,000,000"),
    Published("Walker2d", KEPT, "MB-AIL", "64", BOTH, "0.90 at 120,000"),
    Published("Ant", KEPT, UNNAMED, "at most 16", "states", "0.58 to 0.91 at 1,000,000"),
)
FRAME_SKIP = {"Hopper": 4, "Walker2d": 4, "HalfCheetah": 5, "Ant": 5}
"""Simulation steps per control step of Gymnasium's own tasks."""
LABELS = {"mobile": "MobILE", "bco": "BC-O", "bc": "BC", "dacfo": "DACfO"}
OURS = {"reacher": "2", "swimmer": "10", "hopper": "10", "walker2d": "10"}
"""The same of the tasks of this package."""


def stock() -> None:
    """Published and our own results on Gymnasium's own tasks."""
    header = ("environment", "frame skip", "method", "demonstrations", "sees", "score at steps")
    rows: list[tuple[str, ...]] = [("task", "by", *header)]
    for each in STOCK:
        task, environment, *rest = each
        rows.append((task, "published", environment, str(FRAME_SKIP[task]), *rest))
    tables._print(rows + _ours())


def _ours() -> list[tuple[str, ...]]:
    """A row for every cell of the sweep `stock` that has results."""
    rows = []
    for cell in find_sweep("stock"):
        if not tables._found("stock", cell.name):
            continue
        task, method = str(cell.spec.env).partition("-")[0], LABELS[cell.spec.method]
        kind = "greedy " if "greedy" in cell.name else ""
        number = tables._found("stock", cell.name)[0]["summary"]["demonstrations"]["trajectories"]
        score, steps = tables._greedy("stock", cell.name), tables._samples("stock", cell.name)
        rows.append(
            (
                task,
                "ours",
                str(cell.spec.env),
                str(FRAME_SKIP[task]),
                method + (", none inferred" if cell.spec.changes == ("inference=none",) else ""),
                f"{number} {kind}".strip(),
                BOTH if cell.spec.method == "bc" else "states",
                f"{score} at {steps}; 0.95 at {tables._passes('stock', cell.name)}",
            )
        )
    return rows


def paper() -> None:
    """MobILE in its paper and here, on the paper's tasks."""
    header = ("task", "environment", "horizon", "frame skip", "demonstrations", "paper", "ours")
    rows: list[tuple[str, ...]] = [(*header, "ours, best by reward")]
    for name, title in tables.TITLES.items():
        task = TASKS[name]
        rows.append(
            (
                title,
                f"`{task.environment}`",
                str(task.horizon),
                OURS.get(name, tables.NONE),
                str(task.demonstrations),
                tables.PUBLISHED.get((name, "mobile"), tables.NONE),
                tables._greedy("tasks", name),
                tables._best("tasks", name),
            )
        )
    tables._print_summary(rows)
