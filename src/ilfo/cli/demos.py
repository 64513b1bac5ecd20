"""Commands on demonstrations and the experts that give them."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo import machine
from ilfo.cli.console import console
from ilfo.demonstrations import Demonstrations
from ilfo.describe import describe
from ilfo.environments.tasks import find_task
from ilfo.experts.record import train_and_record


@dataclass(frozen=True)
class Inspect:
    """Show what a file of demonstrations holds."""

    file: tyro.conf.Positional[Path]
    """An .npz, .csv or .parquet file, or a folder of .npz files."""

    def run(self) -> None:
        console.print(describe(Demonstrations.load(self.file)), markup=False, highlight=False)


@dataclass(frozen=True)
class TrainExpert:
    """Train a task's expert by TRPO on the true reward and record demonstrations."""

    task: tyro.conf.Positional[str]
    """The task."""
    out: Path
    """File for the demonstrations; must not exist."""
    seed: int | None = None
    """Seed of training and recording; by default that of the bundled expert."""
    episodes: int = 50
    """Trajectories to record."""

    def run(self) -> None:
        machine.set_up()
        task = find_task(self.task)
        seed = task.expert_seed if self.seed is None else self.seed
        train_and_record(task, self.out, seed, self.episodes, console)
