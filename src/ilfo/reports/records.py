"""What a report reads of a run directory, finished or not."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.printable import brief
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.spec import RunSpec, expert_return_of, spec_of

COUNTS = ("iteration", "seed", "online_samples")
"""Whole numbers in every row of metrics.csv."""
FINALS = ("greedy_score", "greedy_return", "stochastic_return", "chosen_mmd", "mmd_floor")
"""Numbers that the summary may have of a seed."""


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
        return expert_return_of(self.run)

    @property
    def random_return(self) -> float | None:
        """Mean return of random actions, which is score 0; None if the run is not finished."""
        return None if self.summary is None else self.summary.get("random_return")

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
    wrong = [name for name in COUNTS if not all(isinstance(row.get(name), int) for row in rows)]
    if wrong:
        raise RunError(
            f"{path / 'metrics.csv'} lacks whole numbers in {', '.join(wrong)}; restore it"
        )
    record = RunRecord(run, spec_of(run), rows, _summary(run))
    _ = record.expert_return  # an unusable one is an error now
    return record


def _summary(run: RunDirectory) -> Mapping[str, Any] | None:
    """The summary, if there is one; what it says of the seeds is checked."""
    summary = run.read_summary()
    with naming_summary(run):
        chance = None if summary is None else summary.get("random_return")
        if chance is not None and not math.isfinite(chance):
            raise ValueError("random_return is not finite")
        for of_seed in summary["seeds"] if summary is not None else ():
            known = [of_seed[name] for name in FINALS if of_seed.get(name) is not None]
            if not all(map(math.isfinite, (of_seed["seed"], *known))):
                raise ValueError("a number is not finite")
    return summary


@contextmanager
def naming_summary(run: RunDirectory) -> Iterator[None]:
    """Let the error of a summary that lacks something, or has another kind of it, name the file."""
    try:
        yield
    except RunError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise RunError(
            f"{run.path / 'summary.json'} is not the summary of a run "
            f"({type(error).__name__}: {brief(error)}); `ilfo resume` writes it again"
        ) from error
