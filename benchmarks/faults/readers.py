"""How what the package reads is read."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.faults.outcomes import Undetected
from ilfo.cli import _mistakes, parse
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.describe import describe
from ilfo.experiments.sweep_file import read_sweep
from ilfo.experiments.sweep_folder import open_folder
from ilfo.experts import directory
from ilfo.reports import run_report
from ilfo.reports.comparison import comparison_table
from ilfo.reports.groups import group_runs
from ilfo.reports.records import read_run as read_record
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.doctor import diagnose
from ilfo.runs.integrity import config_sum
from ilfo.runs.loading import load_agent, load_policies

DATASET = "toy/walk-v0"
"""Id of the Minari dataset."""


def read_demonstrations(path: Path) -> None:
    describe(Demonstrations.load(path))
    list(Demonstrations.load(path, actions=True))


def read_states(path: Path) -> None:
    describe(Demonstrations.load(path, terminal=False))


def read_episodes(path: Path) -> None:
    describe(Demonstrations.from_episodes(path, horizon=50, terminal=True))


def read_agent(path: Path) -> None:
    load_agent(path).predict(np.zeros(4, np.float32), deterministic=True)


def read_run(original: Path, path: Path) -> None:
    """Read all of a run, by every command for itself; damage that matters must not pass."""
    _each([partial(_policies, original), _doctor, _compare, _report], path)


def _each(readers: list[Callable[[Path], None]], path: Path) -> None:
    """Let all of them read; then the first error that one of them had, if a user can read it."""
    errors: list[Exception] = []
    for read in readers:
        try:
            read(path)
        except _mistakes() as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _policies(original: Path, path: Path) -> None:
    agent = load_policies(path)
    agent.predict(np.zeros(4, np.float32), deterministic=True)
    run, whole = RunDirectory.open(path), RunDirectory.open(original)
    if config_sum(run.config) != config_sum(whole.config):
        raise Undetected("the configuration has changed")
    for name in ("metrics", "timings"):
        if run.rows(name)[: len(whole.rows(name))] != whole.rows(name):
            raise Undetected(f"rows of {name} have changed")
    run.read_summary()


def _doctor(path: Path) -> None:
    diagnose(RunDirectory.open(path))


def _compare(path: Path) -> None:
    comparison_table(group_runs([read_record(path)]))


def _report(path: Path) -> None:
    """Without what is played, which would take seconds."""
    nothing = patch.object(run_report, "load_best", side_effect=RunError("not here"))
    with nothing, patch.object(run_report, "as_svg", return_value=""):
        run_report.run_sections(read_record(path), film=False)


def read_expert(path: Path) -> None:
    directory.load(path).command  # noqa: B018 - it reads the plan


def read_minari_dataset(path: Path) -> None:
    with patch.dict(os.environ, MINARI_DATASETS_PATH=str(path)):
        describe(Demonstrations.load(f"minari:{DATASET}", actions=True))


def read_sweep_folder(file: Path, path: Path) -> None:
    open_folder(path, read_sweep(file), cpus=1)


def read_results_of(path: Path) -> None:
    for options in ([], ["--parts"], ["--effort", "0.5"]):
        parse(["bench", "table", "tasks", "--results", str(path), *options]).run()
