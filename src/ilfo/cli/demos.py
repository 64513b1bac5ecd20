"""Commands on demonstrations and the experts that give them."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.console import console
from ilfo.common.validation import require_at_least
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.describe import describe
from ilfo.data.npz import PICKLES, check_new
from ilfo.data.plot import check_picture, draw_demonstrations
from ilfo.environments.factory import factory
from ilfo.environments.tasks import find_task
from ilfo.experts.record import train_and_record, with_metadata
from ilfo.experts.sources import find_actor, play_actor
from ilfo.runs import machine
from ilfo.storage.provenance import commit


@dataclass(frozen=True)
class Inspect:
    """Show what a file of demonstrations holds."""

    file: tyro.conf.Positional[Path]
    """An .npz, .csv or .parquet file, or a folder of .npz files."""

    picture: Path | None = None
    """Also draw state distributions and the first trajectories: FILE.png."""

    def run(self) -> None:
        if self.picture is not None:
            check_picture(self.picture)
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
    terminal: bool | None = None
    """For a list of episodes that does not say it: whether the shorter ones ended in their last
    states or were cut off."""
    actions: bool = False
    """Keep the actions too; by default only states are."""

    def run(self) -> None:
        check_new(self.out)
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
        return Demonstrations.from_episodes(
            self.source, horizon=self.horizon, terminal=self.terminal, actions=self.actions
        )


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
        check_new(self.out)
        require_at_least(self, 1, "episodes")
        made = factory(self.env, self.horizon)
        actor = find_actor(self.policy, made, seed=self.seed, greedy=self.greedy)
        played = list(play_actor(made.make(), actor, episodes=self.episodes, seed=self.seed))
        card = {
            "policy": self.policy,
            "greedy": self.greedy,
            "commit": commit(),
            "rebuild": shlex.join(self._command()),
        }
        demonstrations = with_metadata(made, played, self.seed, card)
        demonstrations.save(self.out)
        console.print(describe(demonstrations), markup=False, highlight=False)

    def _command(self) -> list[str]:
        command = ["ilfo", "demos", "record", "--policy", self.policy, "--env", self.env]
        command += ["--episodes", str(self.episodes), "--seed", str(self.seed), "--out", "FILE"]
        if self.horizon is not None:
            command += ["--horizon", str(self.horizon)]
        return command + (["--greedy"] if self.greedy else [])


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
        task = find_task(self.task)
        check_new(self.out)
        require_at_least(self, 1, "episodes")
        machine.set_up()
        seed = task.expert_seed if self.seed is None else self.seed
        train_and_record(task, self.out, seed, self.episodes, console)
