"""What the process of a job does: train a seed of a cell, or a run of the user's own sweep."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ilfo.agents.callbacks import Callback
from ilfo.agents.progress import Progress
from ilfo.environments.factory import module_of
from ilfo.experiments.runner import check_spec, find_cells, seed_result
from ilfo.runs import machine
from ilfo.runs.directory import RunInUseError
from ilfo.runs.launch import resume, start
from ilfo.runs.spec import RunSpec
from ilfo.storage.config import from_dict
from ilfo.storage.provenance import source, versions

Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds to wait for a run directory that the process of a lost node may still hold."""


def train_cell(
    sweep: str, cell: str, seed: int, runs: str, callbacks: Sequence[Callback] = ()
) -> dict[str, Any]:
    """Train one seed of a cell, or resume it; returns what its result file holds."""
    (found,) = find_cells(sweep, [cell])
    here, watching = machine.set_up(1), [Progress(), *callbacks]
    return _patiently(lambda: seed_result(sweep, found, seed, Path(runs), here, watching))


def train_run(
    spec: Mapping[str, Any], evaluate_every: int, out: str, callbacks: Sequence[Callback] = ()
) -> dict[str, Any]:
    """Train a run, or resume it; returns its summary."""
    wanted: RunSpec = from_dict({**spec, "type": RunSpec.__name__}, {RunSpec.__name__: RunSpec})
    here, directory, watching = machine.set_up(1), Path(out), [Progress(), *callbacks]

    def train() -> dict[str, Any]:
        if not (directory / "config.json").exists():
            return start(wanted, directory, here, watching, evaluate_every)
        check_spec(directory, wanted)
        trusted = module_of(wanted.environment())  # the file of the sweep names it
        return resume(directory, here, watching, trust_env=trusted)

    return _patiently(train)


KINDS: dict[str, Callable[..., Any]] = {"cell": train_cell, "run": train_run}
"""The kinds of jobs; each function takes what JSON can hold, and callbacks, and returns JSON."""


def check_code(wanted: Mapping[str, Any]) -> None:
    """Raise ValueError if this node has other code or other versions than the driver."""
    here = {"code": source()} | versions()
    there = {"code": wanted["source"]} | wanted["versions"]
    differing = [name for name in here if here[name] != there.get(name)]
    if differing:
        listed = ", ".join(f"{x} {here[x]} (driver: {there.get(x)})" for x in differing)
        raise ValueError(
            f"this node has {listed}; results would differ, so install the same on all nodes"
        )


def _patiently(action: Callable[[], Result]) -> Result:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return action()
        except RunInUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
