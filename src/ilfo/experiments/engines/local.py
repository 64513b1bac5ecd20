"""The engine of local processes."""

import time
from collections import deque
from collections.abc import Iterator, Sequence

from ilfo.experiments.engines.base import Engine, Event, Job
from ilfo.experiments.engines.cores import cores
from ilfo.experiments.engines.process import JobProcess

PAUSE = 0.05
"""Seconds between two looks at the processes."""


class LocalEngine(Engine):
    """Runs jobs in processes of this machine, `at_once` at a time."""

    def __init__(self, cpus: int = 1, at_once: int | None = None):
        """By default as many at once as there are cores for."""
        available = len(cores())
        if cpus > available:
            raise ValueError(
                f"--cpus-per-run is {cpus}, but this machine has {available} cores for it"
            )
        self.at_once = at_once or available // cpus
        self._waiting: deque[Job] = deque()
        self._running: list[JobProcess] = []

    def submit(self, jobs: Sequence[Job]) -> None:
        self._waiting.extend(jobs)

    def events(self) -> Iterator[Event]:
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self.at_once:
                process = JobProcess(self._waiting.popleft())
                self._running.append(process)
                yield Event(process.job, "started", process.where)
            ended = [process for process in self._running if process.ended()]
            for process in ended:
                self._running.remove(process)
                yield _outcome(process)
            if not ended:
                time.sleep(PAUSE)

    def cancel(self) -> None:
        self._waiting.clear()
        for process in self._running:
            process.stop()
        self._running.clear()


def _outcome(process: JobProcess) -> Event:
    said = process.answer()
    if "error" in said:
        return Event(process.job, "failed", process.where, said["error"])
    return Event(process.job, "done", process.where, product=said["product"])
