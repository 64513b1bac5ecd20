"""Checks before a run is resumed or played.

The result of a resumed run should equal that of a run that was never stopped. Other demonstrations
or settings are always refused. Another machine, other versions or other code are accepted by those
who ask for it; then bits differ, and the run says so from then on. A run directory must not choose
what code is imported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilfo.agents.agent import Agent
from ilfo.environments.factory import Environment, located, module_of
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.integrity import ELSEWHERE
from ilfo.storage.provenance import commit, source, versions


def check_env(path: Path, environment: Environment, trusted: str | None) -> None:
    """Raise RunError if the environment that a directory names would run code of a module that
    nobody named."""
    module = module_of(environment)
    named = located(f"{trusted}:").removesuffix(":")  # a file may be named from where one is
    if module is not None and module != named:
        raise RunError(
            f"{path} was trained in {environment}, and to make that environment code of the module "
            f"{module} has to be run; if you trust it, add --trust-env {module} (in Python, pass "
            f"trust_env={module!r})"
        )


def check_here(run: RunDirectory, machine: Mapping[str, int]) -> None:
    """Raise RunError if versions, machine or code differ from those of the run."""
    anyway = "or resume it all the same, with other bits (--anyway)"
    recorded, here = run.entry("versions", dict), versions()
    differing = [name for name in here if recorded.get(name) != here[name]]
    if differing:
        was = ", ".join(f"{name} {recorded.get(name)} (now {here[name]})" for name in differing)
        raise RunError(
            f"{run.path} was made with {was}; install those versions to resume it, start a new "
            f"run, {anyway}"
        )
    if run.entry("machine", dict) != dict(machine):
        raise RunError(
            f"{run.path} was made with {_listed(run.config['machine'])}, but this process has "
            f"{_listed(machine)}; results would differ, first in the last bits; set the number of "
            f"devices with --devices, {anyway}"
        )
    if run.config.get("source") != source():
        raise RunError(
            f"{run.path} was made by other code ({_compared(run.config)}); go back to that code to "
            f"resume the run, start a new one, {anyway}"
        )


def _compared(recorded: Mapping[str, Any]) -> str:
    """The code that made a run, and the code here."""
    before, now = (
        made_by or "an installed copy without a commit"
        for made_by in (recorded.get("commit"), commit())
    )
    if before != now:
        return f"{before}; this is {now}"
    return f"both are of {now}, but the source was {recorded.get('source')} and is {source()}"


def _listed(machine: Mapping[str, int]) -> str:
    return " and ".join(f"{count} {name}" for name, count in machine.items())


def conditions(machine: Mapping[str, int]) -> dict[str, Any]:
    """What the bits of a result depend on, as a run's config has it."""
    return {
        "machine": dict(machine),
        "versions": versions(),
        "commit": commit(),
        "source": source(),
    }


def changes(run: RunDirectory, machine: Mapping[str, int]) -> dict[str, tuple[Any, Any]]:
    """What differs from the conditions under which a run was made, or last resumed: name, before
    and now."""
    before, now = run.config, conditions(machine)
    pairs = {
        name: (run.entry(kind, dict).get(name), value)
        for kind in ("machine", "versions")
        for name, value in now[kind].items()
    }
    if before.get("source") != now["source"]:
        pairs["code"] = (before.get("commit"), now["commit"])
    return {name: (was, value) for name, (was, value) in pairs.items() if was != value}


def moved(run: RunDirectory, machine: Mapping[str, int], iteration: int) -> dict[str, Any]:
    """Entries of the config after resuming at that iteration, with what has changed."""
    differing = changes(run, machine)
    if not differing:
        return {}
    entry = {"iteration": iteration, "changes": {name: list(x) for name, x in differing.items()}}
    return conditions(machine) | {ELSEWHERE: [*resumed_elsewhere(run), entry]}


def warning_of(differing: Mapping[str, Any]) -> str:
    """What a user should know before a run is resumed elsewhere."""
    listed = ", ".join(f"{name} {now} (before {was})" for name, (was, now) in differing.items())
    return (
        f"resumed with {listed}: from there on numbers differ, first in the last bits, from those "
        "of a run that was never stopped"
    )


def remarks(run: RunDirectory) -> list[str]:
    """One for each time that the run was resumed elsewhere."""
    return [
        f"after iteration {entry['iteration']} {warning_of(entry['changes'])}"
        for entry in resumed_elsewhere(run)
    ]


def resumed_elsewhere(run: RunDirectory) -> list[dict[str, Any]]:
    """What the config says of each time that the run was resumed under other conditions."""
    entries = run.entry(ELSEWHERE, list) if ELSEWHERE in run.config else []
    wrong = [entry for entry in entries if not _is_resumption(entry)]
    if wrong:
        raise RunError(
            f"{run.path / 'config.json'} has {str(wrong[0])[:60]!r} in {ELSEWHERE!r}, expected an "
            "iteration and changes, each with the value before and after; restore it"
        )
    return entries


def _is_resumption(entry: Any) -> bool:
    changed = entry.get("changes") if isinstance(entry, dict) else None
    return (
        isinstance(changed, dict)
        and "iteration" in entry
        and all(isinstance(pair, list) and len(pair) == 2 for pair in changed.values())
    )


def evaluate_every(run: RunDirectory) -> int:
    """Iterations between evaluations, as the run was started with."""
    every = run.entry("evaluate_every", int)
    if every < 1:
        raise RunError(f"{run.path / 'config.json'} has 'evaluate_every' below 1; restore it")
    return every


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
        found = f"{recorded} iterations are recorded"
        if not recorded:
            found = "summary.json says that the run has ended"
        raise RunError(f"{run.checkpoint} is missing, but {found}; restore it, or start a new run")
    if recorded > iteration + 1:
        raise RunError(
            f"{run.checkpoint} is of iteration {iteration}, but {recorded} iterations are "
            "recorded; restore the newer one, or start a new run"
        )
    return recorded
