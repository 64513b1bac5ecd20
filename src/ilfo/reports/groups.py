"""Runs grouped by what was trained: runs that differ in their seeds alone belong together."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.reports.records import RunRecord

UNIMPORTANT = ("seeds", "first_seed", "changes", "preset", "accept_anyway")
"""Fields of a spec that make no group: seeds, and what the settings say themselves."""
SHOWN = 3
"""Differences that a label lists."""


@dataclass(frozen=True)
class Group:
    """Runs of the same settings on the same problem."""

    label: str
    """What distinguishes it from the other groups."""
    environment: str
    members: tuple[tuple[RunRecord, int], ...]
    """Runs and their seeds, each seed once."""

    @property
    def runs(self) -> list[RunRecord]:
        return list({str(run.path): run for run, _ in self.members}.values())

    @property
    def finished(self) -> bool:
        return all(run.summary is not None for run in self.runs)

    @property
    def online_samples(self) -> int:
        """Environment steps per seed, of the seed that has taken fewest."""
        return min(run.online_samples for run in self.runs)

    def finals(self, name: str) -> list[float]:
        """An entry of the summary, for every seed that has it."""
        values = (run.final(seed).get(name) for run, seed in self.members)
        return [value for value in values if value is not None]

    def curves(self, name: str) -> list[np.ndarray]:
        """The learning curves of a metric, one for every seed that has it."""
        curves = (run.curve(seed, name) for run, seed in self.members)
        return [curve for curve in curves if len(curve)]


def group_runs(runs: Sequence[RunRecord]) -> list[Group]:
    """The groups, in the order of their first runs."""
    together: dict[str, list[RunRecord]] = {}
    for run in runs:
        together.setdefault(json.dumps([_problem(run), _settings(run)]), []).append(run)
    labels = _labels([several[0] for several in together.values()])
    return [
        Group(label, several[0].environment, tuple(_members(several)))
        for label, several in zip(labels, together.values(), strict=True)
    ]


def _members(runs: Sequence[RunRecord]) -> Iterator[tuple[RunRecord, int]]:
    known: set[int] = set()
    for run in runs:
        for seed in run.seeds:
            if seed not in known:
                known.add(seed)
                yield run, seed


def _problem(run: RunRecord) -> dict[str, Any]:
    spec = asdict(run.spec)
    return {name: value for name, value in spec.items() if name not in UNIMPORTANT} | {
        "demonstrations": run.run.config.get("demonstrations")
    }


def _settings(run: RunRecord) -> dict[str, Any]:
    return dict(_flat(run.run.config.get("settings", {}), ""))


def _flat(settings: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Settings by their dotted names; a component by the name of its class."""
    if not isinstance(settings, Mapping):
        yield prefix, settings
        return
    for name, value in settings.items():
        if name == "type":
            yield prefix or name, value
        else:
            yield from _flat(value, f"{prefix}.{name}" if prefix else name)


def _labels(firsts: Sequence[RunRecord]) -> list[str]:
    """For each group, what distinguishes it from the others in its environment."""
    return [
        _label(run, [other for other in firsts if other.environment == run.environment])
        for run in firsts
    ]


def _label(run: RunRecord, others: Sequence[RunRecord]) -> str:
    """What differs: first of the problem, then, among runs of one method, of the settings."""
    problem, own = _problem(run), _settings(run)
    varying = [name for name in problem if _varies(_posed(others, name), name)]
    if "demos" in varying and "demonstrations" in varying:
        varying.remove("demonstrations")  # a fingerprint; the file says it better
    alike = [other for other in others if other.spec.method == run.spec.method]
    # a method that reads actions has another fingerprint of the same recordings
    if "demonstrations" in varying and not _varies(list(map(_problem, alike)), "demonstrations"):
        varying.remove("demonstrations")
    changed = [name for name in own if _varies(list(map(_settings, alike)), name)]
    # where a component differs, so does what only one of the two has
    changed = [name for name in changed if not any(name.startswith(f"{c}.") for c in changed)]
    parts = [_said(name, problem[name]) for name in varying if problem[name] is not None]
    parts += [_said(name, own[name]) for name in changed]
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more or run.spec.method


def _posed(runs: Sequence[RunRecord], name: str) -> list[dict[str, Any]]:
    """Their problems; of budgets those that there are, because some methods take no steps."""
    problems = [_problem(run) for run in runs]
    return [p for p in problems if name != "total_timesteps" or p[name] is not None]


def _varies(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = {json.dumps(record.get(name, "missing")) for record in records}
    return len(values) > 1


def _said(name: str, value: Any) -> str:
    if name in ("method", "task"):
        return str(value)
    if name == "demonstrations":
        return f"demonstrations {str(value)[:8]}"
    if name == "demos":
        return f"demos={'/'.join(Path(value).parts[-2:])}"  # without the folders of this machine
    return f"{name}={value}"
