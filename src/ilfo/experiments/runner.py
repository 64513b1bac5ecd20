"""Runs what is missing of a sweep and keeps one small file per seed in `results/`.

Every seed of a cell trains in a run directory of its own, in a process of its own on a core of its
own. Killed at any moment, the next call resumes it; once it is done, its result file is written,
and only then does it count as done.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ilfo.agents.callbacks import Callback
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.ablations import CELLS as ABLATIONS
from ilfo.experiments.sweeps.dynamics import CELLS as DYNAMICS
from ilfo.experiments.sweeps.methods import CELLS as METHODS
from ilfo.experiments.sweeps.tasks import CELLS as TASKS
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.launch import RunSpec, resume, spec_of, start
from ilfo.runs.loading import load_best
from ilfo.runs.machine import peak_memory, processor
from ilfo.storage.atomic import atomic_write_text

SWEEPS: dict[str, tuple[Cell, ...]] = {
    "tasks": TASKS,
    "methods": METHODS,
    "ablations": ABLATIONS,
    "dynamics": DYNAMICS,
}
EPISODES = 50
WORK = ("compile", "collect", "improve", "save")
"""Phases that learning consists of; evaluating only serves the reader."""


def find_sweep(name: str) -> tuple[Cell, ...]:
    if name not in SWEEPS:
        raise ValueError(f"unknown sweep {name!r}; there are: {', '.join(SWEEPS)}")
    return SWEEPS[name]


def find_cells(sweep: str, names: Sequence[str]) -> list[Cell]:
    """The cells of these names, all if none is given."""
    known = {cell.name: cell for cell in find_sweep(sweep)}
    for name in names:
        if name not in known:
            raise ValueError(f"unknown cell {name!r}; there are: {', '.join(known)}")
    return [known[name] for name in names or known]


def result_file(results: Path, sweep: str, cell: Cell, seed: int) -> Path:
    return results / cell.kept_in(sweep) / f"{cell.name}-{seed}.json"


def result_files(results: Path, sweep: str, cell: Cell) -> list[Path]:
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
    """Train, or go on training, one seed of a cell and write its result."""
    if seed not in cell.seeds:
        raise ValueError(f"{cell.name} has no seed {seed}; its seeds are {list(cell.seeds)}")
    sweep = cell.kept_in(sweep)
    spec = replace(cell.spec, first_seed=seed, seeds=1)
    directory = runs / sweep / f"{cell.name}-{seed}"
    if cell.record is not None:
        demos = directory.with_suffix(".demos.npz")
        if not demos.exists():
            cell.record().save(demos)
        spec = replace(spec, demos=str(demos.resolve()))
    if (directory / "config.json").exists():
        _check_spec(directory, spec)
        summary = resume(directory, machine, callbacks)
    else:
        summary = start(spec, directory, machine, callbacks, cell.every)
    with RunDirectory.open(directory) as run:
        curve, config = _curve(run), run.config
    result = {
        "sweep": sweep,
        "cell": cell.name,
        "spec": asdict(replace(spec, demos=None)),
        "settings": config["settings"],
        "summary": {name: value for name, value in summary.items() if name != "seeds"},
        "commit": config["commit"],
        "machine": processor(),
        "peak_memory": peak_memory(),
        "result": summary["seeds"][0] | _measure(cell, directory),
        "curve": curve,
    }
    path = result_file(results, sweep, cell, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write_text(path, json.dumps(result, indent=1) + "\n")


def _curve(run: RunDirectory) -> list[dict[str, Any]]:
    """The rows of a run of one seed: returns, all that the method measures, and the seconds that
    learning had taken."""
    seconds, spent = {}, 0.0
    for row in run.rows("timings"):
        spent += sum(row[name] for name in WORK)
        seconds[row["iteration"]] = round(spent, 3)
    return [
        {name: value for name, value in row.items() if name != "seed"}
        | {"seconds": seconds[row["iteration"]]}
        for row in run.rows("metrics")
    ]


def _check_spec(directory: Path, spec: RunSpec) -> None:
    """A run that was started for another cell must not be taken for this one's."""
    if spec_of(RunDirectory.open(directory)) != replace(spec, total_timesteps=spec.budget):
        raise RunError(f"{directory} holds a run of another spec; move it away to run this one")


def _measure(cell: Cell, directory: Path) -> dict[str, Any]:
    """The cell's own number for the chosen greedy policy."""
    if cell.measure is None:
        return {}
    agent = load_best(directory)
    episodes = agent.play(agent.policy(), episodes=EPISODES, seed=agent.seeds[0])
    values = [cell.measure(episode.states) for episode in episodes]
    return {cell.measure.__name__: sum(values) / len(values)}
