"""Environments that fail in the midst of a run, and disks that are full."""

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults.outcomes import CLEAR, DEFECT, SURVIVED, Outcome, Report, in_child
from benchmarks.faults.small_run import Faulty, SmallRun


def _with(place: int, value: Any) -> Callable[[tuple], tuple]:
    return lambda result: tuple(value if i == place else x for i, x in enumerate(result))


FAULTS: dict[str, Any] = {
    "OSError": ConnectionResetError(errno.ECONNRESET, "the simulator is gone"),
    "broken pipe": BrokenPipeError(errno.EPIPE, "Broken pipe"),
    "RuntimeError": RuntimeError("a bug of the environment"),
    "KeyError": KeyError("position"),
    "ValueError": ValueError("out of range"),
    "no message": AssertionError(),
    "NaN": _with(0, np.full(4, np.nan, np.float32)),
    "infinite": _with(0, np.full(4, np.inf, np.float32)),
    "scalar": _with(0, 0.5),
    "another shape": _with(0, np.zeros(7)),
    "text for numbers": _with(0, "abcd"),
    "nothing observed": _with(0, None),
    "no reward": _with(1, None),
    "reward of NaN": _with(1, np.nan),
    "text for a bool": _with(2, "False"),
    "two bools": _with(2, np.array([True, False])),
    "four answers": lambda result: result[:4],
    "nothing": lambda result: None,
}
HARMLESS = ("no reward", "reward of NaN")
"""Rewards are for reports alone: training goes on, but its reports differ."""
STEPS = 2_000
"""About as many as a run takes, all of them for evaluation."""


def environments(small: SmallRun, count: int, rng: random.Random, report: Report) -> None:
    """So many runs in which the environment fails once, and their resumption without a fault."""
    names = list(FAULTS)
    for number in range(count):
        name, left, run = names[number % len(names)], rng.randint(1, STEPS), small.new()

        def faulty(name=name, left=left, run=run) -> None:
            Faulty.fault, Faulty.left = FAULTS[name], left
            small.go(run)

        raised = FAULTS[name] if isinstance(FAULTS[name], BaseException) else None
        outcome = in_child(faulty, raised=raised) or Outcome(DEFECT, "the process died")
        if outcome.kind == CLEAR and (run / "config.json").exists():
            outcome = _resumed(small, run, outcome)
        elif outcome.kind == SURVIVED and name not in HARMLESS:
            outcome = in_child(lambda run=run: small.check(run)) or Outcome(DEFECT, "died")
        report.add(f"environment: {name}", outcome)
        shutil.rmtree(run, ignore_errors=True)


def _resumed(small: SmallRun, run: Path, before: Outcome) -> Outcome:
    def finish() -> None:
        small.go(run)
        small.check(run)

    after = in_child(finish) or Outcome(DEFECT, "resume died")
    return before if after.kind == SURVIVED else Outcome(DEFECT, f"after a fault: {after.text}")


def full_disks(small: SmallRun, count: int, rng: random.Random, report: Report) -> str:
    """So many runs on a small tmpfs that fills up, resumed when it has grown."""
    place = small.folder / "disk"
    place.mkdir()
    if not _mount(place, "size=1m"):
        return "left out, because no tmpfs can be mounted here"
    needed = sum(entry.stat().st_size for entry in small.reference.iterdir())
    try:
        for _ in range(count):
            size = rng.randrange(4096, 2 * needed)
            _mount(place, f"remount,size={size}")
            run = small.new(place)
            outcome = in_child(lambda run=run: small.go(run)) or Outcome(DEFECT, "died")
            _mount(place, "remount,size=100m")
            if outcome.kind == CLEAR and str(place) not in outcome.text:
                outcome = Outcome(DEFECT, f"no file is named: {outcome.text}")
            if outcome.kind == CLEAR:
                outcome = _resumed(small, run, outcome)
            report.add("full disk", outcome)
            shutil.rmtree(run, ignore_errors=True)
    finally:
        subprocess.run(["umount", str(place)], check=False)
    return "done"


def _mount(place: Path, options: str) -> bool:
    if os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", options, "ilfo-faults", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
