"""Mutated files of every format that is read."""

import json
import pickle  # noqa: TID251, to write what is only parsed
import random
import resource
import shutil
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.faults.mutations import mutated
from benchmarks.faults.outcomes import DEFECT, SURVIVED, Child, Outcome, Report, Undetected, judge
from benchmarks.faults.small_run import SmallRun
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.describe import describe
from ilfo.environments.tasks import find_task
from ilfo.runs.directory import RunDirectory
from ilfo.runs.doctor import diagnose
from ilfo.runs.integrity import config_sum
from ilfo.runs.loading import load_agent, load_policies

WAIT = 120.0
"""Seconds of silence after which a case counts as hanging."""
MEMORY = 8 * 2**30
"""Address space of a process that reads damaged files."""


class Format(NamedTuple):
    """A file or folder, one of whose files is damaged, and how it is read."""

    original: Path
    damaged: str
    """Name of the file to damage, in the folder if it is one."""
    read: Callable[[Path], Any]


class Case(NamedTuple):
    """One damaged file."""

    name: str
    form: Format
    seed: int

    @property
    def fault(self) -> str:
        return f"file: {self.name}"


def files(small: SmallRun, count: int, rng: random.Random, report: Report) -> None:
    """So many damaged files, as many of each format."""
    formats = list(make_formats(small).items())
    cases = [Case(*formats[number % len(formats)], rng.randrange(2**32)) for number in range(count)]
    folder = small.folder / "damaged"
    folder.mkdir()
    while cases:
        child = Child(partial(_outcomes, cases, folder))
        said = 0
        for outcome in child.outcomes(WAIT):
            text = f"seed {cases[said].seed}: {outcome.text}"
            report.add(cases[said].fault, Outcome(outcome.kind, text))
            said += 1
        child.end()
        if said < len(cases):
            text = f"seed {cases[said].seed}: the process died or said nothing for {WAIT:.0f} s"
            report.add(cases[said].fault, Outcome(DEFECT, text))
            said += 1
        cases = cases[said:]


def _outcomes(cases: list[Case], folder: Path) -> Iterator[Outcome]:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for form in {case.name: case.form for case in cases}.values():
        # what is imported or compiled costs once
        whole = judge(partial(form.read, form.original))
        if whole.kind != SURVIVED:
            yield Outcome(DEFECT, f"{form.original} is not read without damage: {whole.text}")
    for case in cases:
        place = folder / str(case.seed)
        place.mkdir(exist_ok=True)
        copy = place / case.form.original.name
        (shutil.copytree if case.form.original.is_dir() else shutil.copy)(case.form.original, copy)
        target = copy / case.form.damaged
        target.write_bytes(mutated(target.read_bytes(), random.Random(case.seed)))
        outcome = judge(partial(case.form.read, copy), limited=True)
        if outcome.kind != DEFECT:
            shutil.rmtree(place)
        yield outcome


def make_formats(small: SmallRun) -> dict[str, Format]:
    """An original of every format."""
    folder = small.folder / "originals"
    folder.mkdir()
    demos = find_task("cartpole").load(3, actions=True)
    short = Demonstrations.from_arrays(
        [trajectory.states[:12] for trajectory in demos],
        terminal=[True, False, True],
        actions=[trajectory.actions[:11] for trajectory in demos if trajectory.actions is not None],
        returns=[11.0, 11.0, 11.0],
        metadata={"expert_return": 11.0, "note": "short"},
    )
    short.save(folder / "one.npz")
    for name in ("a", "b"):
        (folder / "shards").mkdir(exist_ok=True)
        short.save(folder / "shards" / f"{name}.npz")
    columns = _columns(list(short))
    _write_csv(folder / "table.csv", columns)
    episodes = [{"episode": trajectory.states, "ep_rew": 11.0} for trajectory in short]
    (folder / "list.pkl").write_bytes(pickle.dumps(episodes, 4))
    (folder / "old.pkl").write_bytes(pickle.dumps(episodes, 2))
    with zipfile.ZipFile(folder / "list.pt", "w") as archive:
        archive.writestr("list/data.pkl", pickle.dumps(episodes, 2))
    demonstrated = {
        "npz": Format(folder / "one.npz", "", _read_demonstrations),
        "npz shards": Format(folder / "shards", "b.npz", _read_demonstrations),
        "csv": Format(folder / "table.csv", "", _read_demonstrations),
        "pickle": Format(folder / "list.pkl", "", _read_episodes),
        "old pickle": Format(folder / "old.pkl", "", _read_episodes),
        "torch": Format(folder / "list.pt", "", _read_episodes),
    }
    return demonstrated | _with_pyarrow(folder, list(short), columns) | _of_runs(small)


def _with_pyarrow(folder: Path, trajectories: list[Trajectory], columns: Any) -> dict[str, Format]:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), folder / "table.parquet")
    saved = pa.table(
        {
            "obs": [trajectory.states.tolist() for trajectory in trajectories],
            "acts": [np.asarray(trajectory.actions).tolist() for trajectory in trajectories],
            "terminal": [trajectory.terminal for trajectory in trajectories],
        }
    )
    (folder / "imitation").mkdir()
    arrow = str(folder / "imitation" / "data.arrow")
    with pa.OSFile(arrow, "wb") as file, pa.ipc.new_stream(file, saved.schema) as writer:
        writer.write_table(saved)
    listed = {"_data_files": [{"filename": "data.arrow"}], "_indices_data_files": None}
    (folder / "imitation" / "state.json").write_text(json.dumps(listed))
    return {
        "parquet": Format(folder / "table.parquet", "", _read_demonstrations),
        "arrow": Format(folder / "imitation", "data.arrow", _read_demonstrations),
        "arrow's list": Format(folder / "imitation", "state.json", _read_demonstrations),
    }


def _of_runs(small: SmallRun) -> dict[str, Format]:
    names = ("config.json", "metrics.csv", "timings.csv", "last.npz", "summary.json")
    read = partial(_read_run, small.reference)
    runs = {f"run's {name}": Format(small.reference, name, read) for name in names}
    return {"agent": Format(small.reference / "last.npz", "", _read_agent)} | runs


def _columns(trajectories: list[Trajectory]) -> dict[str, list[Any]]:
    rows = [
        (number, step == len(trajectory.states) - 1 and trajectory.terminal, 1, *map(float, state))
        for number, trajectory in enumerate(trajectories)
        for step, state in enumerate(trajectory.states)
    ]
    names = ("episode", "terminal", "action", "x", "speed", "angle", "turn")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _write_csv(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def _read_demonstrations(path: Path) -> None:
    describe(Demonstrations.load(path))
    list(Demonstrations.load(path, actions=True))


def _read_episodes(path: Path) -> None:
    describe(Demonstrations.from_episodes(path, horizon=50, terminal=True))


def _read_agent(path: Path) -> None:
    load_agent(path).predict(np.zeros(4, np.float32), deterministic=True)


def _read_run(original: Path, path: Path) -> None:
    """Read all of a run; damage that matters must not pass."""
    agent = load_policies(path)
    agent.predict(np.zeros(4, np.float32), deterministic=True)
    run, whole = RunDirectory.open(path), RunDirectory.open(original)
    if config_sum(run.config) != config_sum(whole.config):
        raise Undetected("the configuration has changed")
    for name in ("metrics", "timings"):
        if run.rows(name)[: len(whole.rows(name))] != whole.rows(name):
            raise Undetected(f"rows of {name} have changed")
    diagnose(run)
    run.read_summary()
