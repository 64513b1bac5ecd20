"""Several processes that work through the seeds of a sweep, each on a core of its own.

One core per process rather than several seeds in one: nothing waits for the slowest, and what one
seed computes does not depend on how many others run beside it.
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
    name: str
    arguments: tuple[str, ...]
    """Of the command `ilfo`."""
    log: Path
    """Takes what the command prints."""


def cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def stay_on(core: int) -> None:
    """Let this process compute on one core only, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def work_through(jobs: Iterable[Job], workers: int, report: Callable[[str], None]) -> list[str]:
    """Run every job; returns the names of those that failed."""
    free: SimpleQueue[int] = SimpleQueue()
    available = cores()
    for number in range(workers):
        free.put(available[number % len(available)])

    def run(job: Job) -> str | None:
        core = free.get()
        try:
            report(f"{job.name} starts")
            code = _run(job, core)
            report(f"{job.name} is done" if code == 0 else f"{job.name} failed, see {job.log}")
            return None if code == 0 else job.name
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
    """In the new process: keep to its core and, on Linux, do not outlive the crew, whose successor
    would find core and run directory taken."""
    stay_on(core)
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
