"""An original of every format that is read."""

import json
import os
import pickle  # noqa: TID251, to write what is only parsed
import shutil
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.faults.outcomes import PICKLED, SURVIVED, USUAL, Limit, in_child
from benchmarks.faults.readers import (
    DATASET,
    read_agent,
    read_demonstrations,
    read_episodes,
    read_expert,
    read_minari_dataset,
    read_results_of,
    read_run,
    read_states,
    read_sweep_folder,
)
from benchmarks.faults.small_run import MACHINE, SmallRun
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.environments.tasks import find_task
from ilfo.experiments.sweep_file import read_sweep
from ilfo.experiments.sweep_folder import open_folder
from ilfo.experts import directory
from ilfo.experts.off_policy import OffPolicyPlan
from ilfo.planners.sac import SAC

RESULTS = Path(__file__).parents[2] / "results"
SWEEP = """method = "bc"
task = "cartpole"
seeds = 3
[settings]
passes = 30
[grid.settings]
policy.width = [8, 16]
"""


class Format(NamedTuple):
    """A file or folder, one of whose files is damaged, and how it is read."""

    original: Path
    damaged: str
    """Name of the file to damage, in the folder if it is one."""
    read: Callable[[Path], Any]
    limit: Limit = USUAL


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
    np.save(folder / "states.npy", np.stack([trajectory.states for trajectory in short]))
    columns = _columns(list(short))
    _write_csv(folder / "table.csv", columns)
    episodes = [{"episode": trajectory.states, "ep_rew": 11.0} for trajectory in short]
    (folder / "list.pkl").write_bytes(pickle.dumps(episodes, 4))
    (folder / "old.pkl").write_bytes(pickle.dumps(episodes, 2))
    with zipfile.ZipFile(folder / "list.pt", "w") as archive:
        archive.writestr("list/data.pkl", pickle.dumps(episodes, 2))
    demonstrated = {
        "npz": Format(folder / "one.npz", "", read_demonstrations),
        "npz shards": Format(folder / "shards", "b.npz", read_demonstrations),
        "csv": Format(folder / "table.csv", "", read_demonstrations),
        "npy": Format(folder / "states.npy", "", read_states),
        "pickle": Format(folder / "list.pkl", "", read_episodes, PICKLED),
        "old pickle": Format(folder / "old.pkl", "", read_episodes, PICKLED),
        "torch": Format(folder / "list.pt", "", read_episodes, PICKLED),
    }
    others = _with_pyarrow(folder, list(short), columns) | _minari(folder / "minari", short)
    return demonstrated | others | _of_runs(small) | _expert(folder / "expert") | _sweeps(folder)


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
        "parquet": Format(folder / "table.parquet", "", read_demonstrations),
        "arrow": Format(folder / "imitation", "data.arrow", read_demonstrations),
        "arrow's list": Format(folder / "imitation", "state.json", read_demonstrations),
    }


def _of_runs(small: SmallRun) -> dict[str, Format]:
    names = ("config.json", "metrics.csv", "timings.csv", "last.npz", "summary.json")
    read = partial(read_run, small.reference)
    runs = {f"run's {name}": Format(small.reference, name, read) for name in names}
    return {"agent": Format(small.reference / "last.npz", "", read_agent)} | runs


def _minari(folder: Path, demonstrations: Demonstrations) -> dict[str, Format]:
    if not (find_spec("minari") and find_spec("h5py")):
        return {}
    folder.mkdir()
    with patch.dict(os.environ, MINARI_DATASETS_PATH=str(folder)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has no author and the like
        demonstrations.to_minari(DATASET)
    return {
        f"Minari's {name}": Format(folder, f"{DATASET}/data/{name}", read_minari_dataset)
        for name in ("main_data.hdf5", "metadata.json")
    }


def _expert(path: Path) -> dict[str, Format]:
    plan = OffPolicyPlan(
        SAC(batch_size=8, width=8, depth=1),
        capacity=50,
        random_steps=10,
        block=10,
        updates=10,
        every=20,
    )

    def train() -> None:
        with directory.open_or_create(path, "Pendulum-v1", plan, 0, MACHINE) as run:
            for _ in directory.train(run, 20):
                pass
            directory.finish(run)

    trained = in_child(train)  # in a child, since it computes
    if trained is None or trained.kind != SURVIVED:
        raise RuntimeError(f"no expert was trained: {trained}")
    names = ("config.json", "metrics.csv", "timings.csv", "best.npz")
    return {f"expert's {name}": Format(path, name, read_expert) for name in names}


def _sweeps(folder: Path) -> dict[str, Format]:
    file, runs, results = folder / "own.toml", folder / "sweep", folder / "results"
    file.write_text(SWEEP)
    open_folder(runs, read_sweep(file), cpus=1)
    result = RESULTS / "tasks" / "cartpole-10.json"
    (results / "tasks").mkdir(parents=True)
    shutil.copy(result, results / "tasks")
    return {
        "sweep": Format(file, "", read_sweep),
        "sweep's record": Format(runs, "sweep.json", partial(read_sweep_folder, file)),
        "result": Format(results, f"tasks/{result.name}", read_results_of),
    }


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
