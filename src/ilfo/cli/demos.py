"""Commands on demonstrations and the experts that give them."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo import machine
from ilfo.cli.console import console
from ilfo.demonstration_files import PICKLES
from ilfo.demonstration_picture import draw_demonstrations
from ilfo.demonstrations import Demonstrations
from ilfo.describe import describe
from ilfo.environments.factory import factory
from ilfo.environments.tasks import find_task
from ilfo.experts.actors import find_actor, play_actor
from ilfo.experts.record import train_and_record, with_card


@dataclass(frozen=True)
class Inspect:
    """Show what a file of demonstrations holds."""

    file: tyro.conf.Positional[Path]
    """An .npz, .csv or .parquet file, or a folder of .npz files."""

    picture: Path | None = None
    """Also draw state distributions and the first trajectories: FILE.png."""

    def run(self) -> None:
        demonstrations = Demonstrations.load(self.file)
        console.print(describe(demonstrations), markup=False, highlight=False)
        if self.picture is not None:
            draw_demonstrations(demonstrations, self.picture)


@dataclass(frozen=True)
class Convert:
    """Write demonstrations of another form as one .npz file."""

    source: tyro.conf.Positional[Path]
    """A .csv or .parquet file, a folder of `imitation`, or a list of episodes (.pt, .pkl)."""
    out: Path
    """File for the demonstrations; must not exist."""
    horizon: int | None = None
    """For a list of episodes: the longest one that was allowed; ended there, its time was over."""
    actions: bool = False
    """Keep the actions too; by default only states are."""

    def run(self) -> None:
        if self.out.exists():
            raise FileExistsError(f"{self.out} exists already; choose another file")
        demonstrations = self._read()
        demonstrations.save(self.out)
        console.print(describe(demonstrations), markup=False, highlight=False)

    def _read(self) -> Demonstrations:
        if self.source.suffix.lower() not in PICKLES:
            return Demonstrations.load(self.source, actions=self.actions)
        if self.horizon is None:
            raise ValueError(
                "say how long an episode of a list could be, so that its end is told from a time "
                "limit: --horizon"
            )
        return Demonstrations.from_episodes(self.source, horizon=self.horizon, actions=self.actions)


@dataclass(frozen=True)
class Record:
    """Record demonstrations from something that acts."""

    policy: str
    """A run directory, an agent's .npz, ALGORITHM:FILE.zip of Stable-Baselines3 (ppo:expert.zip),
    or package.module:function, from an observation to an action."""
    env: str
    """Gymnasium id, package:Id to import a package first."""
    out: Path
    """File for the demonstrations; must not exist."""
    episodes: int = 50
    """Trajectories to record: the first that are started."""
    seed: int = 0
    """Seed of the episodes."""
    horizon: int | None = None
    """Longest episode, where the environment has no time limit or another is wanted."""
    greedy: bool = False
    """Act without randomness, where the policy has any."""

    def run(self) -> None:
        if self.out.exists():
            raise FileExistsError(f"{self.out} exists already; choose another file")
        if self.episodes < 1:
            raise ValueError(f"episodes is {self.episodes}, but must be at least 1")
        made = factory(self.env, self.horizon)
        actor = find_actor(self.policy, made, greedy=self.greedy)
        played = list(play_actor(made.make(), actor, episodes=self.episodes, seed=self.seed))
        card = {"policy": self.policy, "greedy": self.greedy}
        demonstrations = with_card(made, played, self.seed, card)
        demonstrations.save(self.out)
        console.print(describe(demonstrations), markup=False, highlight=False)


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
