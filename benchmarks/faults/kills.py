"""Kills: at every fsync and rename, in the midst of writes, and at any time."""

import io
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.faults.outcomes import DEFECT, SURVIVED, Child, Outcome, Report, in_child, judge
from benchmarks.faults.small_run import SmallRun
from ilfo.runs import csv_tables
from ilfo.storage import atomic

IN_A_WRITE = "kill in a write"
IN_A_ROW = 5
"""Kills that one run gets at most before it may end."""


class Killer:
    """Counts what a process does to files, and kills it at one of these moments."""

    def __init__(self, target: int | None):
        self.target = target
        self.moments: list[str] = []

    def tick(self, what: str, before_dying: Callable[[], Any] = lambda: None) -> None:
        self.moments.append(what)
        if len(self.moments) - 1 == self.target:
            before_dying()
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        fsync, replace, killer = os.fsync, os.replace, self

        class Torn(io.BufferedWriter):
            def write(self, data: Any) -> int:
                def half() -> None:
                    io.BufferedWriter.write(self, bytes(data)[: len(data) // 2])
                    self.flush()

                killer.tick("write", half)
                return super().write(data)

        def opened(path: Any, mode: str = "r", **more: Any) -> Any:
            if mode in ("xb", "ab"):
                return Torn(io.FileIO(path, mode))
            return open(path, mode, **more)

        def synced(descriptor: int) -> None:
            killer.tick("fsync")
            fsync(descriptor)

        def replaced(*paths: Any) -> None:
            killer.tick("before rename")
            replace(*paths)
            killer.tick("after rename")

        os.fsync, os.replace = synced, replaced  # type: ignore[assignment]
        atomic.open = csv_tables.open = opened  # type: ignore[attr-defined]


def make_reference(small: SmallRun) -> list[str]:
    """Run without faults, once to fill the compilation cache; the moments of the second time."""
    for _ in range(2):
        shutil.rmtree(small.reference, ignore_errors=True)

        def watched() -> list[Outcome]:
            killer = Killer(None)
            killer.install()
            outcome = judge(lambda: small.go(small.reference))
            return [outcome, Outcome(SURVIVED, "\n".join(killer.moments))]

        child = Child(watched)
        outcomes = list(child.outcomes(600))
        child.end()
    if len(outcomes) < 2 or outcomes[0].kind != SURVIVED:
        raise RuntimeError(f"the run fails without any fault: {outcomes}")
    return outcomes[1].text.split("\n")


def kills(small: SmallRun, count: int, rng: random.Random, report: Report) -> None:
    """So many kills; each run is resumed until it ends, and compared with the reference."""
    moments = make_reference(small)
    began = time.monotonic()
    small_again = in_child(lambda: small.go(small.new()))
    usual = time.monotonic() - began
    if small_again is None or small_again.kind != SURVIVED:
        raise RuntimeError(f"the run fails without any fault: {small_again}")
    writes = [number for number, what in enumerate(moments) if what == "write"]
    certain = certain_kills(moments)
    done = 0
    while done < count:
        run, row = small.new(), []
        for _ in range(1 if certain else rng.randint(1, IN_A_ROW)):
            if done + len(row) == count:
                break
            if certain:
                row.append(_killed_at(small, run, *certain.pop(0)))
            elif rng.random() < 0.5:
                row.append(_killed_at(small, run, IN_A_WRITE, rng.choice(writes)))
            else:
                row.append(_killed_after(small, run, usual * rng.random()))
            if row[-1] is None:
                break  # it had ended before
        outcome = in_child(lambda run=run: _finish(small, run)) or Outcome(DEFECT, "resume died")
        for fault in filter(None, row):
            report.add(fault, outcome)
            done += 1
        if outcome.kind != DEFECT:
            shutil.rmtree(run, ignore_errors=True)


def certain_kills(moments: list[str]) -> list[tuple[str, int]]:
    """Kills that come once each before those at random: at every fsync and rename, and in the midst
    of what is written before each of them; most files take hundreds of writes."""
    at = [number for number, what in enumerate(moments) if what != "write"]
    between = zip([-1, *at], at, strict=False)
    midst = [(before + end) // 2 for before, end in between if end - before > 1]
    return [("kill at fsync or rename", number) for number in at] + [
        (IN_A_WRITE, number) for number in midst
    ]


def _finish(small: SmallRun, run: Path) -> None:
    small.go(run)
    small.check(run)


def _killed_at(small: SmallRun, run: Path, name: str, target: int) -> str | None:
    def until_killed() -> None:
        Killer(target).install()
        small.go(run)

    return name if in_child(until_killed) is None else None


def _killed_after(small: SmallRun, run: Path, seconds: float) -> str | None:
    child = Child(lambda: [judge(lambda: small.go(run))])
    said = next(child.outcomes(seconds), None)
    child.end()
    return "kill at any time" if said is None else None
