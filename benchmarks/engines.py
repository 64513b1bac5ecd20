"""What Ray costs against local processes, on a small sweep of Hopper seeds.

    python -m benchmarks.engines [--seeds 4] [--timesteps 6000] [--turns 3]

Needs the extra ray. Both engines run the same sweep, taking turns, with as many runs at once as
there are cores, each on one. The clock runs from the first submission to the last result; starting
Ray on this machine, and the process that it has for each core, is timed apart, because a cluster is
there already, and tasks after the first find these processes. Before that, one seed fills the
compilation cache. The aim is at most 5 % more. Beside the clock on the wall, which needs an
idle machine, there are the processor seconds of all processes that a sweep started, Ray's included
(Linux).
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from ilfo.experiments.driving import drive
from ilfo.experiments.engines.base import Engine, Job
from ilfo.experiments.engines.cores import cores
from ilfo.experiments.engines.local import LocalEngine
from ilfo.experiments.engines.ray import RayEngine
from ilfo.runs.spec import RunSpec, to_json


def started_ray() -> RayEngine:
    """With a process for each core: as many tasks as there are cores, at the same time."""
    engine = RayEngine("local")
    import ray  # the extra; RayEngine says so where it is missing

    waiting = ray.remote(num_cpus=1)(lambda: time.sleep(2.0))
    ray.get([waiting.remote() for _ in cores()])
    return engine


ENGINES: dict[str, Callable[[], Engine]] = {"local": LocalEngine, "ray": started_ray}


def job(task: str, timesteps: int, seed: int, folder: Path) -> Job:
    spec = to_json(RunSpec(task=task, first_seed=seed, total_timesteps=timesteps))
    out = str(folder / f"{task}-{seed}")
    return Job(f"{task}-{seed}", "run", {"spec": spec, "evaluate_every": 1, "out": out}, out)


class Taken(NamedTuple):
    """Seconds of one sweep."""

    ready: float
    """Until the engine could take jobs."""
    wall: float
    processor: float


class Meter:
    """Processor seconds of this process and of all that descend from it, while it is open. What a
    process does after it was looked at for the last time does not count."""

    PAUSE = 0.2

    def __enter__(self) -> "Meter":
        self._seen, self._stop = _processes(), threading.Event()
        self._before = sum(self._seen.values())
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.seconds = sum(self._seen.values()) - self._before

    def _watch(self) -> None:
        while not self._stop.wait(self.PAUSE):
            self._seen |= _processes()


def _processes() -> dict[int, float]:
    """Processor seconds of this process and of its descendants, by their numbers."""
    parents, spent = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(entry.parent.name)
        parents[number] = int(fields[1])
        spent[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    mine = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return {number: spent[number] for number in mine if number in spent}


def seconds_of(make: Callable[[], Engine], jobs: list[Job]) -> Taken:
    began = time.perf_counter()
    with make() as engine:
        ready = time.perf_counter()
        with Meter() as meter:
            failed = drive(engine, jobs, keep=lambda event: None)
        ended = time.perf_counter()
    if failed:
        raise RuntimeError(f"runs failed: {', '.join(failed)}")
    return Taken(ready - began, ended - ready, meter.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="hopper")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--timesteps", type=int, default=6000, help="per seed")
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    print(f"{len(cores())} cores; load average before:", *(f"{x:.1f}" for x in os.getloadavg()))
    taken: dict[str, list[Taken]] = {name: [] for name in ENGINES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = lambda turn: [
            job(args.task, args.timesteps, seed, folder / turn) for seed in range(args.seeds)
        ]
        seconds_of(LocalEngine, jobs("warm")[:1])
        for turn in range(args.turns):
            for engine, make in ENGINES.items():
                one = seconds_of(make, jobs(f"{engine}{turn}"))
                taken[engine].append(one)
                print(
                    f"turn {turn + 1}, {engine}: {one.wall:.1f} s, {one.processor:.1f} s of "
                    "processors",
                    flush=True,
                )
    show(taken)


def show(taken: dict[str, list[Taken]]) -> None:
    """Medians over the turns, and their ratios."""
    median = lambda engine, name: statistics.median(getattr(one, name) for one in taken[engine])
    table = Table(
        "engine", "ready, s", "wall, s", "against local", "processors, s", "against local"
    )
    for engine in taken:
        cells = [f"{median(engine, 'ready'):.1f}"]
        for name in ("wall", "processor"):
            value = median(engine, name)
            cells += [f"{value:.1f}", f"{value / median('local', name):.3f}"]
        table.add_row(engine, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
