"""`ilfo expert`: train experts on the true reward, and record them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ilfo.cli.console import console, say
from ilfo.common.seeding import seed_numbers
from ilfo.common.tally import COMPILING, Tally
from ilfo.common.validation import require_at_least
from ilfo.data.describe import describe
from ilfo.data.npz import check_new
from ilfo.environments.factory import Factory, factory
from ilfo.environments.tasks import TASKS, find_task
from ilfo.experts import directory
from ilfo.experts.off_policy import OffPolicyPlan, Spaces
from ilfo.experts.record import record, thinned, train_and_record
from ilfo.runs import machine
from ilfo.runs.spec import apply_changes
from ilfo.storage.provenance import commit

TOTAL = 1_000_000
"""Environment steps of SAC unless told otherwise."""


@dataclass(frozen=True)
class TrainExpert:
    """Train an expert on the true reward: TRPO for a built-in task, SAC for any Box of actions.

    The expert of a built-in task is recorded to --out. For an environment, --out is a folder: the
    same command again goes on from its last checkpoint, and `ilfo expert record` records it.
    """

    task: tyro.conf.Positional[str]
    """Built-in task, or id of a Gymnasium environment; package:Id imports the package first."""
    out: Path
    """Of a task: new file (.npz) for the demonstrations. Of an environment: folder."""
    seed: int | None = None
    """Seed of training and recording; by default that of the bundled expert, or 0."""
    episodes: int | None = None
    """Tasks: number of trajectories to record, 50 by default."""
    greedy_out: Path | None = None
    """Tasks: output file (.npz) for demonstrations of the same expert acting greedily."""
    total_timesteps: int | None = None
    """Environments: steps to train for, 1,000,000 by default; rounded up to whole rounds."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Environments: settings to change, e.g. every=5000 sac.batch_size=128."""

    def run(self) -> None:
        if self.task in TASKS:
            self._train_task()
        else:
            self._train_environment()

    def _train_task(self) -> None:
        if self.set or self.total_timesteps is not None:
            raise ValueError(
                f"{self.task} is a built-in task, whose expert is trained by TRPO until it is good "
                "enough; --set and --total-timesteps are for environments"
            )
        task = find_task(self.task)
        for path in (self.out, self.greedy_out):
            if path is not None:
                check_new(path)
        episodes = 50 if self.episodes is None else self.episodes
        if episodes < 1:
            raise ValueError(f"--episodes is {episodes}, but must be at least 1")
        machine.set_up()
        seed = task.expert_seed if self.seed is None else self.seed
        train_and_record(task, self.out, seed, episodes, console, greedy_out=self.greedy_out)

    def _train_environment(self) -> None:
        Spaces(self._factory())
        recorded = self.greedy_out is not None or self.episodes is not None
        if recorded or self.out.suffix == ".npz":
            raise ValueError(
                f"{self.task} is no built-in task ({', '.join(TASKS)}): --out must be a folder for "
                "its training; `ilfo expert record` then records episodes of it"
            )
        total = TOTAL if self.total_timesteps is None else self.total_timesteps
        if total < 1:
            raise ValueError(f"--total-timesteps is {total}, but must be at least 1")
        plan, (seed,) = apply_changes(OffPolicyPlan(), self.set), seed_numbers([self.seed or 0])
        here = machine.set_up(1)
        with directory.open_or_create(self.out, self.task, plan, seed, here) as run:
            try:
                left = directory.steps_left(run, total)
                with Tally("steps", left, console, first=COMPILING) as tally:
                    for part in directory.train(run, total, tally.advance):
                        tally.done(
                            f"steps {part.steps}  greedy {part.greedy_return:.1f}  stochastic "
                            f"{part.stochastic_return:.1f}  {part.seconds:.1f} s",
                            parts=0,
                        )
            except KeyboardInterrupt:
                say(f"stopped; the same command goes on in {self.out}")
                raise
            summary = directory.finish(run)
        say(
            f"{self.out}: after {summary['samples']} steps and {summary['seconds']:.0f} s, the "
            f"best policy is that of step {summary['best_at']}; in ten new episodes each, greedy "
            f"{summary['greedy_return']:.1f}, stochastic {summary['stochastic_return']:.1f}"
        )

    def _factory(self) -> Factory:
        try:
            return factory(self.task)
        except ValueError as error:
            raise ValueError(
                f"unknown task {self.task!r}; there are: {', '.join(TASKS)}, and all Gymnasium "
                f"environments with Box actions, but: {error}"
            ) from error


@dataclass(frozen=True)
class RecordExpert:
    """Record an expert that `ilfo expert train` trained in an environment."""

    directory: tyro.conf.Positional[Path]
    """Folder of its training."""
    out: Path
    """Output file (.npz) for the demonstrations; must not exist."""
    episodes: int = 10
    """Number of trajectories to record."""
    seed: int | None = None
    """Seed of the episodes; by default that of training."""
    greedy: bool = False
    """Act greedily."""
    trust_env: str | None = None
    """The module or file whose code the environment of the training may run."""

    def run(self) -> None:
        check_new(self.out)
        require_at_least(self, 1, "episodes")
        expert = directory.load(self.directory, trust_env=self.trust_env)
        seed = expert.seed if self.seed is None else self.seed
        again = f"ilfo expert record FOLDER --episodes {self.episodes} --seed {seed} --out FILE"
        rebuild = f"{expert.command} && {again}"
        demonstrations = record(
            expert.environment,
            expert.policy,
            seed=seed,
            episodes=self.episodes,
            metadata={
                "task": expert.name,
                "commit": commit(),
                "rebuild": rebuild + (" --greedy" if self.greedy else ""),
                "training": expert.training | {"curve": thinned(expert.training["curve"])},
            },
            greedy=self.greedy,
        )
        demonstrations.save(self.out)
        say(describe(demonstrations))


COMMANDS = {"train": TrainExpert, "record": RecordExpert}
