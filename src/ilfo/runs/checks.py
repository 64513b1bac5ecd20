"""Checks before resuming a run: the result must equal that of a run that was never stopped."""

import hashlib
from collections.abc import Mapping

from ilfo.agents.agent import Agent
from ilfo.data.demonstrations import Demonstrations
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.spec import RunSpec
from ilfo.storage.provenance import commit, source, versions


def check_same(run: RunDirectory, machine: Mapping[str, int], spec: RunSpec) -> None:
    """Raise RunError if versions, machine, code or demonstrations differ from those of the run."""
    recorded, here = run.config["versions"], versions()
    differing = [name for name in here if recorded.get(name) != here[name]]
    if differing:
        was = ", ".join(f"{name} {recorded.get(name)} (now {here[name]})" for name in differing)
        raise RunError(
            f"{run.path} was made with {was}; install those versions to resume it, or start a "
            "new run"
        )
    if run.config["machine"] != dict(machine):
        raise RunError(
            f"{run.path} was made with {run.config['machine']}, but this process has "
            f"{dict(machine)}; results would differ, first in the last bits; set the number of "
            "devices with --devices"
        )
    if run.config.get("source") != source():
        raise RunError(
            f"{run.path} was made by commit {run.config['commit']}, but this is {commit()}; check "
            "out the former to resume the run, or start a new one"
        )
    if run.config["demonstrations"] != fingerprint(spec.demonstrations()):
        raise RunError(
            f"the demonstrations have changed since {run.path} was started; restore them, or start "
            "a new run"
        )


def check_settings(run: RunDirectory, agent: Agent) -> None:
    """Raise RunError if the preset now has other settings than those recorded in the run."""
    if run.config["settings"] != agent.describe()["settings"]:
        raise RunError(
            f"{run.path} was made with other settings than its preset has now; check out the "
            f"commit it was made with, {run.config.get('commit')}, or start a new run"
        )


def fingerprint(demonstrations: Demonstrations) -> str:
    """A hash of all states, terminal flags and, if they are loaded, actions."""
    digest = hashlib.sha256()
    for trajectory in demonstrations:
        digest.update(trajectory.states.tobytes() + bytes([trajectory.terminal]))
        if trajectory.actions is not None:
            digest.update(trajectory.actions.tobytes())
    return digest.hexdigest()
