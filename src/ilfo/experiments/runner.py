"""The sweeps, training one seed of a cell, and its small result file in `results/`.

Every seed of a cell has its own run directory. If it is killed, the next call resumes it. A seed
counts as done when its result file exists.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.agents.callbacks import Callback
from ilfo.agents.seeds import one_seed
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.ablations import CELLS as ABLATIONS
from ilfo.experiments.sweeps.conditions import CELLS as CONDITIONS
from ilfo.experiments.sweeps.dynamics import CELLS as DYNAMICS
from ilfo.experiments.sweeps.endings import CELLS as ENDINGS
from ilfo.experiments.sweeps.exploration import CELLS as EXPLORATION
from ilfo.experiments.sweeps.methods import CELLS as METHODS
from ilfo.experiments.sweeps.paper import CELLS as PAPER
from ilfo.experiments.sweeps.recordings import CELLS as RECORDINGS
from ilfo.experiments.sweeps.stock import CELLS as STOCK
from ilfo.experiments.sweeps.tasks import CELLS as TASKS
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.launch import resume, start
from ilfo.runs.loading import load_best
from ilfo.runs.machine import peak_memory, processor
from ilfo.runs.spec import RunSpec, spec_of
from ilfo.storage.atomic import atomic_write_text

SWEEPS: dict[str, tuple[Cell, ...]] = {
    "tasks": TASKS,
    "methods": METHODS,
    "ablations": ABLATIONS,
    "recordings": RECORDINGS,
    "conditions": CONDITIONS,
    "endings": ENDINGS,
    "dynamics": DYNAMICS,
    "paper": PAPER,
    "exploration": EXPLORATION,
    "stock": STOCK,
}
"""The sweeps by name: their cells."""
EPISODES = 50
"""Number of episodes to evaluate a policy."""
WORK = ("compile", "collect", "improve", "save")
"""Phases that count as training time; evaluation does not."""


def find_sweep(name: str) -> tuple[Cell, ...]:
    """The cells of a sweep."""
    if name not in SWEEPS:
        raise ValueError(f"unknown sweep {name!r}; choose one of {', '.join(SWEEPS)}")
    return SWEEPS[name]


def find_cells(sweep: str, names: Sequence[str]) -> list[Cell]:
    """The cells with these names; all cells if no name is given."""
    known = {cell.name: cell for cell in find_sweep(sweep)}
    for name in names:
        if name not in known:
            raise ValueError(f"unknown cell {name!r}; choose from {', '.join(known)}")
    return [known[name] for name in names or known]


def result_file(results: Path, sweep: str, cell: Cell, seed: int) -> Path:
    """Where the result of a seed is kept."""
    return results / cell.kept_in(sweep) / f"{cell.name}-{seed}.json"


def result_files(results: Path, sweep: str, cell: Cell) -> list[Path]:
    """Where the results of all seeds are kept."""
    return [result_file(results, sweep, cell, seed) for seed in cell.seeds]


def run_seed(
    sweep: str,
    cell: Cell,
    seed: int,
    results: Path,
    runs: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
) -> None:
    """Train one seed of a cell, or resume it, and write its result file."""
    result = seed_result(sweep, cell, seed, runs, machine, callbacks)
    write_result(result_file(results, sweep, cell, seed), result)


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write the result file of a seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write_text(path, json.dumps(result, indent=1) + "\n")


def run_directory(runs: Path, sweep: str, cell: Cell, seed: int) -> Path:
    """Where a seed is trained."""
    return runs / cell.kept_in(sweep) / f"{cell.name}-{seed}"


def seed_result(
    sweep: str,
    cell: Cell,
    seed: int,
    runs: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
) -> dict[str, Any]:
    """Train one seed of a cell, or resume it; returns what its result file holds."""
    if seed not in cell.seeds:
        raise ValueError(f"{cell.name} has no seed {seed}; its seeds are {list(cell.seeds)}")
    spec = replace(cell.spec, first_seed=seed, seeds=1)
    directory = run_directory(runs, sweep, cell, seed)
    if cell.record is not None:
        demos = directory.with_suffix(".demos.npz")
        if not demos.exists():
            cell.record().save(demos)
        spec = replace(spec, demos=str(demos.resolve()))
    if (directory / "config.json").exists():
        check_spec(directory, spec)
        summary = resume(directory, machine, callbacks)
    else:
        summary = start(spec, directory, machine, callbacks, cell.every)
    with RunDirectory.open(directory) as run:
        curve, config = _curve(run), run.config
    visits = {} if cell.visits is None else {"visits": _visits(cell.visits, directory)}
    return {
        "sweep": cell.kept_in(sweep),
        "cell": cell.name,
        "spec": asdict(replace(spec, demos=None)),
        "settings": config["settings"],
        "summary": {name: value for name, value in summary.items() if name != "seeds"},
        "commit": config["commit"],
        "machine": processor(),
        "peak_memory": peak_memory(),
        "result": summary["seeds"][0] | _measure(cell, directory),
        "curve": curve,
    } | visits


def _curve(run: RunDirectory) -> list[dict[str, Any]]:
    """The metrics of each iteration, with the training time in seconds up to it."""
    seconds, spent = {}, 0.0
    for row in run.rows("timings"):
        spent += sum(row[name] for name in WORK)
        seconds[row["iteration"]] = round(spent, 3)
    return [
        {name: value for name, value in row.items() if name != "seed"}
        | {"seconds": seconds[row["iteration"]]}
        for row in run.rows("metrics")
    ]


def check_spec(directory: Path, spec: RunSpec) -> None:
    """Raise RunError if the directory contains a run with another specification."""
    if spec_of(RunDirectory.open(directory)) != replace(spec, total_timesteps=spec.budget):
        raise RunError(
            f"{directory} holds a run with another specification than the sweep has now; move it "
            "away to run this one"
        )


def _measure(cell: Cell, directory: Path) -> dict[str, Any]:
    """The cell's own metric for the chosen greedy policy."""
    if cell.measure is None:
        return {}
    agent = load_best(directory)
    episodes = agent.play(agent.policy(), episodes=EPISODES, seed=agent.seeds[0])
    values = [cell.measure(episode.states) for episode in episodes]
    return {cell.measure.__name__: sum(values) / len(values)}


def _visits(bins: Sequence[tuple[float, float, int]], directory: Path) -> list[Any]:
    """How often training reached each bin, from the replay buffer: nested lists, a level per
    dimension."""
    recent = one_seed(load_best(directory).state.buffer.recent, 0)
    reached = np.asarray(recent.items.next_state)[np.asarray(recent.valid)]
    counts, _ = np.histogramdd(
        reached[:, : len(bins)],
        bins=[number for *_, number in bins],
        range=[(low, high) for low, high, _ in bins],
    )
    return counts.astype(int).tolist()
