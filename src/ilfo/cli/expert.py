"""`ilfo expert`: train the experts of the built-in tasks."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.console import console
from ilfo.common.validation import require_at_least
from ilfo.data.npz import check_new
from ilfo.environments.tasks import find_task
from ilfo.experts.record import train_and_record
from ilfo.runs import machine


@dataclass(frozen=True)
class TrainExpert:
    """Train an expert with TRPO on the true reward, then record it."""

    task: tyro.conf.Positional[str]
    """Built-in task."""
    out: Path
    """Output file (.npz) for the demonstrations; must not exist."""
    seed: int | None = None
    """Seed of training and recording; by default that of the bundled expert."""
    episodes: int = 50
    """Number of trajectories to record."""
    greedy_out: Path | None = None
    """Output file (.npz) for demonstrations of the same expert acting greedily."""

    def run(self) -> None:
        task = find_task(self.task)
        for path in (self.out, self.greedy_out):
            if path is not None:
                check_new(path)
        require_at_least(self, 1, "episodes")
        machine.set_up()
        seed = task.expert_seed if self.seed is None else self.seed
        train_and_record(task, self.out, seed, self.episodes, console, greedy_out=self.greedy_out)


COMMANDS = {"train": TrainExpert}
