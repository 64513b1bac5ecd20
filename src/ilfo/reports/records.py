"""What a report reads of a run directory, finished or not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.spec import RunSpec, spec_of


@dataclass(frozen=True)
class RunRecord:
    """A run as its files tell it."""

    run: RunDirectory
    spec: RunSpec
    rows: Sequence[Mapping[str, Any]]
    """metrics.csv."""
    summary: Mapping[str, Any] | None
    """None if the run is not finished."""

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def environment(self) -> str:
        return self.spec.task or str(self.run.config.get("environment", self.spec.env))

    @property
    def seeds(self) -> list[int]:
        return sorted({row["seed"] for row in self.rows})

    @property
    def expert_return(self) -> float | None:
        return self.run.config.get("expert_return")

    @property
    def online_samples(self) -> int:
        """Environment steps that each seed has taken."""
        return self.rows[-1]["online_samples"]

    def final(self, seed: int) -> Mapping[str, Any]:
        """What the summary says of a seed; empty for a run that is not finished."""
        seeds = self.summary["seeds"] if self.summary else ()
        return next((of_seed for of_seed in seeds if of_seed["seed"] == seed), {})

    def curve(self, seed: int, name: str) -> np.ndarray:
        """(n, 2): environment steps, or iterations for a method that takes none, and the metric."""
        over = "online_samples" if self.online_samples else "iteration"
        points = [
            (row[over], row[name])
            for row in self.rows
            if row["seed"] == seed and row.get(name) is not None
        ]
        return np.array(points, float).reshape(-1, 2)


def read_run(path: Path) -> RunRecord:
    """Read a run directory; it may still be written to."""
    run = RunDirectory.open(path)
    rows = run.rows("metrics")
    if not rows:
        raise RunError(f"{path} has no finished iteration yet; there is nothing to report")
    summary = path / "summary.json"
    known = json.loads(summary.read_text()) if summary.exists() else None
    return RunRecord(run, spec_of(run), rows, known)
