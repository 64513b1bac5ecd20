"""What Ray costs against local processes, on a small sweep of Hopper seeds.

    python -m benchmarks.engines [--seeds 4] [--timesteps 6000] [--turns 3]

Needs the extra ray. Both engines run the same sweep, taking turns, with as many runs at once as
there are cores, each on one. The clock runs from the first submission to the last result; starting
Ray on this machine is timed apart, because a cluster is there already. Before that, one seed fills
the compilation cache. The aim is at most 5 % more.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ilfo.experiments.driving import drive
from ilfo.experiments.engines.base import Engine, Job
from ilfo.experiments.engines.cores import cores
from ilfo.experiments.engines.local import LocalEngine
from ilfo.experiments.engines.ray import RayEngine
from ilfo.runs.spec import RunSpec, to_json

ENGINES: dict[str, Callable[[], Engine]] = {
    "local": LocalEngine,
    "ray": lambda: RayEngine("local"),
}


def job(task: str, timesteps: int, seed: int, folder: Path) -> Job:
    spec = to_json(RunSpec(task=task, first_seed=seed, total_timesteps=timesteps))
    out = str(folder / f"{task}-{seed}")
    return Job(f"{task}-{seed}", "run", {"spec": spec, "evaluate_every": 1, "out": out}, out)


def seconds_of(make: Callable[[], Engine], jobs: list[Job]) -> tuple[float, float]:
    """Seconds until the engine was ready, and for all jobs."""
    began = time.perf_counter()
    with make() as engine:
        ready = time.perf_counter()
        failed = drive(engine, jobs, keep=lambda event: None)
        ended = time.perf_counter()
    if failed:
        raise RuntimeError(f"runs failed: {', '.join(failed)}")
    return ready - began, ended - ready


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="hopper")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--timesteps", type=int, default=6000, help="per seed")
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    print(f"{len(cores())} cores; load average before:", *(f"{x:.1f}" for x in os.getloadavg()))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ENGINES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = lambda turn: [
            job(args.task, args.timesteps, seed, folder / turn) for seed in range(args.seeds)
        ]
        seconds_of(LocalEngine, jobs("warm")[:1])
        for turn in range(args.turns):
            for engine, make in ENGINES.items():
                taken[engine].append(seconds_of(make, jobs(f"{engine}{turn}")))
                print(f"turn {turn + 1}, {engine}: {taken[engine][-1][1]:.1f} s", flush=True)
    table = Table("engine", "ready, s", "sweep, s (median)", "fastest, s", "against local")
    medians = {name: statistics.median(x for _, x in taken[name]) for name in ENGINES}
    for engine, values in taken.items():
        ready = statistics.median(x for x, _ in values)
        fastest = min(x for _, x in values)
        ratio = medians[engine] / medians["local"]
        cells = (f"{ready:.1f}", f"{medians[engine]:.1f}", f"{fastest:.1f}", f"{ratio:.3f}")
        table.add_row(engine, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
