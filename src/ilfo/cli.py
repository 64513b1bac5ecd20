"""The command `ilfo`. Every option's help is the text under its field."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import tyro
from rich.console import Console
from rich.table import Table

from ilfo import machine
from ilfo.demonstrations import Demonstrations
from ilfo.describe import describe
from ilfo.environments.tasks import find_task
from ilfo.launch import Order, load_best, resume, start
from ilfo.logging import Progress
from ilfo.presets import find_preset
from ilfo.settings_help import settings_table

console = Console()


@dataclass(frozen=True)
class Train:
    """Learn a policy from demonstrations: of a task that ships with ilfo, or your own."""

    method: tyro.conf.Positional[str] = "mobile"
    """Which method; there is: mobile."""
    task: str | None = None
    """A task with bundled demonstrations (cartpole is the default); or use --env and --demos."""
    env: str | None = None
    """Id of any registered Gymnasium environment, package:Id to import a package first."""
    demos: str | None = None
    """Demonstrations: an .npz file or a folder of them; see `ilfo demos inspect`."""
    trajectories: int | None = None
    """Use only that many demonstrations."""
    seeds: int = 1
    """Seeds to train side by side."""
    total_timesteps: int | None = None
    """Environment steps per seed; a task knows its own default."""
    out: Path | None = None
    """Directory for the run, new or empty; runs/NAME-TIME by default."""
    horizon: int | None = None
    """Longest episode, where the environment has no time limit or another is wanted."""
    preset: str = "default"
    """Named hyper-parameters."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Hyper-parameters that differ from the preset, e.g. weight=0 planner.kl=0.02 planner=PPO;
    `ilfo settings` lists them."""
    evaluate_every: int = 1
    """Measure the true return (for reporting only) every that many iterations."""

    def run(self) -> None:
        if self.task and (self.env or self.demos):
            raise ValueError("give either --task, or --env with --demos, not both")
        task = None if self.env or self.demos else self.task or "cartpole"
        order = Order(
            method=self.method,
            task=task,
            env=self.env,
            demos=_absolute(self.demos),
            trajectories=self.trajectories,
            horizon=self.horizon,
            seeds=self.seeds,
            total_timesteps=self.total_timesteps,
            preset=self.preset,
            changes=self.set,
        )
        out = self.out or Path("runs") / f"{task or self.env}-{datetime.now():%Y%m%d-%H%M%S}"
        summary = start(order, out, machine.set_up(), [Progress(console)], self.evaluate_every)
        show(summary, out)


@dataclass(frozen=True)
class Resume:
    """Go on with a run that was stopped, as if it never had been."""

    run_directory: tyro.conf.Positional[Path]
    """The run's directory."""
    total_timesteps: int | None = None
    """A new budget of environment steps per seed; by default the run's own."""

    def run(self) -> None:
        summary = resume(
            self.run_directory, machine.set_up(), [Progress(console)], self.total_timesteps
        )
        show(summary, self.run_directory)


@dataclass(frozen=True)
class Evaluate:
    """Play episodes with the policies that a run has chosen."""

    run_directory: tyro.conf.Positional[Path]
    """The run's directory."""
    episodes: int = 50
    """Episodes per seed."""
    seed: int = 1_000
    """Seed of the episodes."""

    def run(self) -> None:
        from ilfo.evaluate import mean_return
        from ilfo.policies.host import HostPolicy

        agent, _ = load_best(self.run_directory)
        environments = agent.factory.several(10)
        table = Table("seed", "greedy return", "stochastic return", title=str(self.run_directory))
        for index, seed in enumerate(agent.seeds):
            means = [
                mean_return(
                    environments,
                    HostPolicy.single(agent.policy(index)),
                    agent.problem.actions,
                    episodes=self.episodes,
                    seed=self.seed + seed,
                    greedy=greedy,
                )
                for greedy in (True, False)
            ]
            table.add_row(str(seed), *(f"{mean:.1f}" for mean in means))
        table.caption = f"expert {agent.demonstrations.expert_return}"
        console.print(table)


@dataclass(frozen=True)
class Settings:
    """List the hyper-parameters that `ilfo train --set` can change."""

    task: str | None = None
    """Of this task; otherwise of the preset for unknown environments."""
    preset: str = "default"
    """Named hyper-parameters."""

    def run(self) -> None:
        chosen = find_preset(self.preset)(find_task(self.task) if self.task else None)
        console.print(settings_table(chosen))


@dataclass(frozen=True)
class Inspect:
    """Show what a file of demonstrations holds."""

    file: tyro.conf.Positional[Path]
    """An .npz file, or a folder of them."""

    def run(self) -> None:
        console.print(describe(Demonstrations.load(self.file)), markup=False, highlight=False)


@dataclass(frozen=True)
class TrainExpert:
    """Train a task's expert by TRPO on the true reward and record demonstrations."""

    task: tyro.conf.Positional[str]
    """The task."""
    out: Path
    """File for the demonstrations; must not exist."""
    seed: int = 0
    """Seed of training and recording."""
    episodes: int = 50
    """Trajectories to record."""

    def run(self) -> None:
        from ilfo.experts.record import train_and_record

        machine.set_up()
        train_and_record(find_task(self.task), self.out, self.seed, self.episodes, console)


@dataclass(frozen=True)
class BenchRun:
    """Run what is missing of a sweep; stopped at any moment, it goes on where it was."""

    sweep: tyro.conf.Positional[str]
    """The sweep; there is: core."""
    cells: tyro.conf.Positional[tuple[str, ...]] = ()
    """Only these cells; all by default."""
    results: Path = Path("results")
    """Where result files are kept."""
    runs: Path = Path("runs/bench")
    """Where the runs are kept."""

    def run(self) -> None:
        from ilfo.experiments.runner import find_sweep, result_files, run_cell

        here = machine.set_up()
        known = {cell.name: cell for cell in find_sweep(self.sweep)}
        for name in self.cells or known:
            if name not in known:
                raise ValueError(f"unknown cell {name!r}; there are: {', '.join(known)}")
            cell = known[name]
            if not all(path.exists() for path in result_files(self.results, self.sweep, cell)):
                console.print(f"cell {name}", highlight=False)
                run_cell(self.sweep, cell, self.results, self.runs, here, [Progress(console)])


@dataclass(frozen=True)
class BenchTable:
    """Print the table of a sweep's results."""

    sweep: tyro.conf.Positional[str]
    """The sweep; there is: core."""
    results: Path = Path("results")
    """Where result files are kept."""

    def run(self) -> None:
        from ilfo.experiments.analysis import sweep_table
        from ilfo.experiments.runner import find_sweep

        console.print(sweep_table(self.sweep, find_sweep(self.sweep), self.results))


COMMANDS: dict[str, Any] = {
    "train": Train,
    "resume": Resume,
    "evaluate": Evaluate,
    "settings": Settings,
    "demos": {"inspect": Inspect},
    "expert": {"train": TrainExpert},
    "bench": {"run": BenchRun, "table": BenchTable},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what the user can mend ends in one line, anything else in a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    commands, program = COMMANDS, "ilfo"
    while arguments and isinstance(commands.get(arguments[0]), dict):
        program, commands = f"{program} {arguments[0]}", commands[arguments.pop(0)]
    command = tyro.extras.subcommand_cli_from_dict(
        {name: _constructor(kind) for name, kind in commands.items()},
        prog=program,
        description=__doc__,
        args=arguments,
    )
    try:
        command.run()
    except (ValueError, OSError, FloatingPointError, gymnasium.error.Error) as error:
        Console(stderr=True).print(
            f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _constructor(kind: Any) -> Callable[..., Any]:
    if isinstance(kind, dict):
        return _group(kind)
    return kind


def _group(kinds: dict[str, Any]) -> Callable[..., Any]:
    def group() -> None: ...

    group.__doc__ = "Commands: " + ", ".join(kinds)
    return group


def _absolute(path: str | None) -> str | None:
    """A run must find its demonstrations again from anywhere."""
    return None if path is None else str(Path(path).resolve())


def show(summary: dict[str, Any], out: Path) -> None:
    """The result of a run as a table."""
    number = lambda x, digits=2: "-" if x is None else f"{x:.{digits}f}"
    table = Table(
        "seed",
        "greedy return",
        "greedy score",
        "stochastic return",
        "stochastic score",
        "chosen at sample",
        title=f"{summary['method']} on {summary['env']}",
    )
    for seed in summary["seeds"]:
        table.add_row(
            str(seed["seed"]),
            number(seed["greedy_return"], 1),
            number(seed["greedy_score"]),
            number(seed["stochastic_return"], 1),
            number(seed["stochastic_score"]),
            str(seed["chosen_at"]),
        )
    mean, seconds = summary["mean"], summary["seconds"]
    table.add_section()
    table.add_row("mean", "", number(mean["greedy_score"]), "", number(mean["stochastic_score"]))
    table.caption = (
        f"score 1 is the expert's return of {number(summary['expert_return'], 1)}; "
        f"{summary['online_samples']} online samples per seed; policies chosen without the reward"
    )
    console.print(table)
    console.print(
        f"{seconds['total']:.0f} s (compiling {seconds['compile']:.0f} s)  "
        f"run directory: {out}  learning curves: {out / 'curves.png'}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
