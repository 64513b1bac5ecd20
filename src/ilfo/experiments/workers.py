"""Worker processes that run the seeds of a sweep, each on its own core.

There is one process per seed instead of several seeds in one process: no seed waits for a slower
one, and a seed's result does not depend on how many others run at the same time.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


class Job(NamedTuple):
    """A command to run in a process of its own."""

    name: str
    arguments: tuple[str, ...]
    """Arguments of the command `ilfo`."""
    log: Path
    """File for the command's output."""


def cores() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def stay_on(core: int) -> None:
    """Restrict this process to one core, on systems that support it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def work_through(
    jobs: Iterable[Job],
    workers: int,
    report: Callable[[str], None],
    done: Callable[[str], None],
) -> list[str]:
    """Run all jobs in `workers` processes at a time; returns the names of those that failed.
    `report` hears what starts and what fails, `done` what has ended well."""
    free: SimpleQueue[int] = SimpleQueue()
    available = cores()
    for number in range(workers):
        free.put(available[number % len(available)])

    def run(job: Job) -> str | None:
        core = free.get()
        try:
            report(f"{job.name} starts")
            code = _run(job, core)
            if code != 0:
                report(f"{job.name} failed, see {job.log}")
                return job.name
            done(job.name)
            return None
        finally:
            free.put(core)

    with ThreadPoolExecutor(workers) as pool:
        return [name for name in pool.map(run, jobs) if name is not None]


def _run(job: Job, core: int) -> int:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("ab") as log:
        return subprocess.run(
            (sys.executable, "-m", "ilfo", *job.arguments),
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=partial(_settle, core),
            check=False,
        ).returncode


def _settle(core: int) -> None:
    """In the new process: stay on its core and, on Linux, end when the parent process ends.
    Otherwise its core and run directory would still be in use when the sweep is started again."""
    stay_on(core)
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
