"""Checks before resuming a run: the result must equal that of a run that was never stopped."""

from collections.abc import Mapping

from ilfo.agents.agent import Agent
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.storage.provenance import commit, source, versions


def check_here(run: RunDirectory, machine: Mapping[str, int]) -> None:
    """Raise RunError if versions, machine or code differ from those of the run."""
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
        made_by = run.config["commit"] or "an installed copy without a commit"
        raise RunError(
            f"{run.path} was made by other code ({made_by}; this is {commit()}); go back to that "
            "code to resume the run, or start a new one"
        )


def check_agent(run: RunDirectory, agent: Agent) -> None:
    """Raise RunError if the demonstrations, or the settings of the preset, differ from those of the
    run. Reads the demonstrations."""
    if run.config["demonstrations"] != agent.survey.fingerprint:
        raise RunError(
            f"the demonstrations have changed since {run.path} was started; restore them, or start "
            "a new run"
        )
    if run.config["settings"] != agent.describe()["settings"]:
        raise RunError(
            f"{run.path} was made with other settings than its preset has now; check out the "
            f"commit it was made with, {run.config.get('commit')}, or start a new run"
        )
