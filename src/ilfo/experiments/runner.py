"""Runs what is missing of a sweep and keeps one small file per seed in `results/`.

A cell trains in a run directory of its own. Killed at any moment, the next call resumes it; once
it is done, its result files are written, and only then does it count as done.
"""

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ilfo.experiments.cell import Cell
from ilfo.experiments.core.sweep import CELLS as CORE
from ilfo.experiments.theory.sweep import CELLS as THEORY
from ilfo.files import atomic_write_text
from ilfo.launch import Order, load_best, order_of, resume, start
from ilfo.logging import Callback
from ilfo.run import RunDirectory, RunError

SWEEPS: dict[str, tuple[Cell, ...]] = {"core": CORE, "theory": THEORY}
EPISODES = 50
CURVE = ("iteration", "online_samples", "greedy_return", "stochastic_return", "mmd")


def find_sweep(name: str) -> tuple[Cell, ...]:
    if name not in SWEEPS:
        raise ValueError(f"unknown sweep {name!r}; there are: {', '.join(SWEEPS)}")
    return SWEEPS[name]


def result_files(results: Path, sweep: str, cell: Cell) -> list[Path]:
    return [results / sweep / f"{cell.name}-{seed}.json" for seed in range(cell.order.seeds)]


def run_cell(
    sweep: str,
    cell: Cell,
    results: Path,
    runs: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
) -> None:
    """Train, or go on training, one cell and write its results."""
    order = cell.order
    if cell.record is not None:
        demos = runs / sweep / f"{cell.name}.demos.npz"
        if not demos.exists():
            cell.record().save(demos)
        order = replace(order, demos=str(demos.resolve()))
    directory = runs / sweep / cell.name
    if (directory / "config.json").exists():
        _check_order(directory, order)
        summary = resume(directory, machine, callbacks)
    else:
        summary = start(order, directory, machine, callbacks)
    measures = list(_measures(cell, directory))
    with RunDirectory.open(directory) as run:
        rows, config = run.rows("metrics"), run.config
    shared = {
        "sweep": sweep,
        "cell": cell.name,
        "order": asdict(cell.order),
        "settings": config["settings"],
        "summary": {name: value for name, value in summary.items() if name != "seeds"},
        "commit": config["commit"],
        "machine": platform.machine(),
    }
    for seed, path in enumerate(result_files(results, sweep, cell)):
        curve = [{name: row[name] for name in CURVE} for row in rows if row["seed"] == seed]
        result = shared | {"result": summary["seeds"][seed] | measures[seed], "curve": curve}
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(path, json.dumps(result, indent=1) + "\n")


def _check_order(directory: Path, order: Order) -> None:
    """A run that was started for another cell must not be taken for this one's."""
    if order_of(RunDirectory.open(directory)) != replace(order, total_timesteps=order.budget):
        raise RunError(f"{directory} holds a run of another order; move it away to run this one")


def _measures(cell: Cell, directory: Path) -> Iterator[dict[str, Any]]:
    """The cell's own number for each seed's chosen greedy policy."""
    agent = load_best(directory)
    for index, seed in enumerate(agent.seeds):
        if cell.measure is None:
            yield {}
            continue
        episodes = agent.play(agent.policy(index), episodes=EPISODES, seed=seed)
        values = [cell.measure(episode.states) for episode in episodes]
        yield {cell.measure.__name__: sum(values) / len(values)}
