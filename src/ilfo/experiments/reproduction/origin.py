"""The line below a figure: which commit, seeds and settings made it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from ilfo.experiments.reproduction.exhibit import Measured, without_results
from ilfo.experiments.stale import STALE, changed
from ilfo.storage.provenance import commit

SHORT = 7
"""Digits of a commit."""


def origin_line(measured: Sequence[Measured], results: Path) -> str:
    """Seeds, settings and commits of each series, and what has no results yet, in one line."""
    if not measured:
        made = f"from the presets at commit {_short(commit())}"
        return f"{made}; in brackets what the preset paper has instead."
    by_label: dict[str, list[Measured]] = {}
    for each in measured:
        if each.records:
            by_label.setdefault(each.marked, []).append(each)
    parts = [_series_line(label, group) for label, group in by_label.items()]
    if stale := [each for each in measured if each.stale and each.records]:
        names = {name for each in stale for name in changed(each.series.cell, each.records)}
        said = f"{STALE} measured before these settings changed or were added"
        parts.append(f"{said}: {', '.join(sorted(names))}")
    if lacking := without_results(measured):
        parts.append(f"without results yet: {', '.join(lacking)}")
    drawn = f"drawn from {results.name}/ at commit {_short(commit())}"
    return "; ".join([*parts, drawn]) + "."


def _series_line(label: str, group: Sequence[Measured]) -> str:
    records = [record for each in group for record in each.records]
    counts = sorted({len(each.records) for each in group})
    fewest = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    seeds = _ranges({record["result"]["seed"] for record in records})
    specs = [each.series.cell.spec for each in group]
    presets = ", ".join(dict.fromkeys(spec.preset for spec in specs))
    changes = ", ".join(dict.fromkeys(change for spec in specs for change in spec.changes))
    commits = ", ".join(dict.fromkeys(_short(record.get("commit")) for record in records))
    settings = f"preset {presets}" + (f" with {changes}" if changes else "")
    noun = "seed" if counts == [1] else "seeds"
    return f"{label}: {fewest} {noun} ({seeds}), {settings}, commit {commits}"


def _short(revision: str | None) -> str:
    return revision[:SHORT] + ("+" if revision.endswith("+") else "") if revision else "unknown"


def _ranges(numbers: Iterable[int]) -> str:
    """Such as 0-4, 10."""
    groups: list[list[int]] = []
    for number in sorted(numbers):
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in groups)
