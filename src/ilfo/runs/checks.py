"""Checks before a run is resumed or played.

The result of a resumed run must equal that of a run that was never stopped, and a run directory
must not choose what code is imported.
"""

from collections.abc import Mapping

from ilfo.agents.agent import Agent
from ilfo.environments.factory import module_of
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.spec import RunSpec
from ilfo.storage.provenance import commit, source, versions


def check_env(run: RunDirectory, spec: RunSpec, trusted: str | None) -> None:
    """Raise RunError if the run's environment would import a module that nobody named."""
    module = module_of(spec.environment())
    if module is not None and module != trusted:
        raise RunError(
            f"{run.path} was trained in {spec.env}, and to make that environment the module "
            f"{module} has to be imported, which runs its code; if you trust it, add "
            f"--trust-env {module} (in Python, import it first or pass trust_env={module!r})"
        )


def check_here(run: RunDirectory, machine: Mapping[str, int]) -> None:
    """Raise RunError if versions, machine or code differ from those of the run."""
    recorded, here = run.entry("versions", dict), versions()
    differing = [name for name in here if recorded.get(name) != here[name]]
    if differing:
        was = ", ".join(f"{name} {recorded.get(name)} (now {here[name]})" for name in differing)
        raise RunError(
            f"{run.path} was made with {was}; install those versions to resume it, or start a "
            "new run"
        )
    if run.entry("evaluate_every", int) < 1:
        raise RunError(f"{run.path / 'config.json'} has 'evaluate_every' below 1; restore it")
    if run.entry("machine", dict) != dict(machine):
        raise RunError(
            f"{run.path} was made with {run.config['machine']}, but this process has "
            f"{dict(machine)}; results would differ, first in the last bits; set the number of "
            "devices with --devices"
        )
    if run.config.get("source") != source():
        made_by = run.config.get("commit") or "an installed copy without a commit"
        raise RunError(
            f"{run.path} was made by other code ({made_by}; this is {commit()}); go back to that "
            "code to resume the run, or start a new one"
        )


def check_agent(run: RunDirectory, agent: Agent) -> None:
    """Raise RunError if the demonstrations, the settings of the preset, or what else the agent says
    of itself differ from those of the run. Reads the demonstrations."""
    if run.entry("demonstrations", str) != agent.survey.fingerprint:
        raise RunError(
            f"the demonstrations have changed since {run.path} was started; restore them, or start "
            "a new run"
        )
    described = agent.describe()
    if run.entry("settings", dict) != described["settings"]:
        raise RunError(
            f"{run.path} was made with other settings than its preset has now; check out the "
            f"commit it was made with, {run.config.get('commit')}, or start a new run"
        )
    for name in ("method", "problem", "seeds", "environment"):
        if run.config.get(name) != described[name]:
            raise RunError(
                f"{run.path / 'config.json'} has {run.config.get(name)} as {name}, but what the "
                f"run was started with makes {described[name]}; restore it, or start a new run"
            )


def check_progress(run: RunDirectory, iteration: int) -> int:
    """The last iteration in the tables. Raise RunError if the checkpoint, which is of `iteration`
    or 0 if there is none, is too old: its rows are written before it, but no others."""
    rows = [*run.rows("metrics"), *run.rows("timings")]
    recorded = max((row["iteration"] for row in rows), default=0)
    if not run.checkpoint.exists() and (recorded > 1 or (run.path / "summary.json").exists()):
        raise RunError(
            f"{run.checkpoint} is missing, but {recorded} iterations are recorded; restore it, or "
            "start a new run"
        )
    if recorded > iteration + 1:
        raise RunError(
            f"{run.checkpoint} is of iteration {iteration}, but {recorded} iterations are "
            "recorded; restore the newer one, or start a new run"
        )
    return recorded
