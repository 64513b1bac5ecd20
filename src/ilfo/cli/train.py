"""Commands on training runs."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from ilfo.agents.agent import Agent
from ilfo.agents.registry import DYNAMICS
from ilfo.agents.seeds import one_seed
from ilfo.cli.console import console
from ilfo.methods import METHODS
from ilfo.methods.mobile import MobILE
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.episodes import mean_return
from ilfo.rollouts.model_error import prediction_errors
from ilfo.rollouts.scores import mean_known
from ilfo.rollouts.video import check_path, film
from ilfo.runs import machine
from ilfo.runs.directory import RunDirectory
from ilfo.runs.launch import RunSpec, resume, start
from ilfo.runs.loading import load_best
from ilfo.runs.progress import Progress

MethodName = Annotated[str, tyro.conf.arg(metavar="|".join(METHODS))]


@dataclass(frozen=True)
class Train:
    """Learn a policy from demonstrations: of a task that ships with ilfo, or your own."""

    method: tyro.conf.Positional[MethodName] = "mobile"
    """Which method."""
    task: str | None = None
    """A task with bundled demonstrations (cartpole is the default); or use --env and --demos."""
    env: str | None = None
    """Id of any registered Gymnasium environment, package:Id to import a package first."""
    demos: str | None = None
    """Demonstrations: an .npz, .csv or .parquet file, or a folder; see `ilfo demos inspect`."""
    trajectories: int | None = None
    """Use only that many demonstrations."""
    seeds: int = 1
    """Seeds to train side by side."""
    first_seed: int = 0
    """Number of the first of them; the others follow."""
    total_timesteps: int | None = None
    """Environment steps per seed; a task knows its own default."""
    out: Path | None = None
    """Directory for the run, new or empty; runs/NAME-TIME by default."""
    horizon: int | None = None
    """Longest episode, where the environment has no time limit or another is wanted."""
    preset: str = "default"
    """Named hyper-parameters."""
    dynamics: str | None = None
    """What the model of the environment is: ensemble, knr, gp or tabular; short for --set
    dynamics=KNRDynamics and the like."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Hyper-parameters that differ from the preset, e.g. weight=0 planner.kl=0.02 planner=PPO;
    `ilfo settings` lists them."""
    evaluate_every: int = 1
    """Measure the true return (for reporting only) every that many iterations."""
    devices: int | None = None
    """Seeds computed at the same time, one per core by default; part of what makes the bits."""

    def run(self) -> None:
        if self.task and (self.env or self.demos):
            raise ValueError("give either --task, or --env with --demos, not both")
        task = None if self.env or self.demos else self.task or "cartpole"
        spec = RunSpec(
            method=self.method,
            task=task,
            env=self.env,
            demos=_absolute(self.demos),
            trajectories=self.trajectories,
            horizon=self.horizon,
            seeds=self.seeds,
            first_seed=self.first_seed,
            total_timesteps=self.total_timesteps,
            preset=self.preset,
            changes=(*_dynamics(self.dynamics), *self.set),
        )
        out = self.out or Path("runs") / f"{task or self.env}-{datetime.now():%Y%m%d-%H%M%S}"
        here = machine.set_up(self.devices)
        try:
            summary = start(spec, out, here, [Progress(console)], self.evaluate_every)
        except KeyboardInterrupt:
            console.print(f"stopped; `ilfo resume {out}` goes on", highlight=False, markup=False)
            raise
        show(summary, out)


@dataclass(frozen=True)
class Resume:
    """Go on with a run that was stopped, as if it never had been."""

    run_directory: tyro.conf.Positional[Path]
    """The run's directory."""
    total_timesteps: int | None = None
    """A new budget of environment steps per seed; by default the run's own."""
    devices: int | None = None
    """As many as the run was started with; one per core by default."""

    def run(self) -> None:
        summary = resume(
            self.run_directory,
            machine.set_up(self.devices),
            [Progress(console)],
            self.total_timesteps,
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
    video: Path | None = None
    """Also film one greedy episode of the best seed's policy, without a display: FILE.gif."""
    model: bool = False
    """Tell instead how well the best seed's model foresees such episodes, of its policy drawing
    its actions, from 1 to 50 steps ahead."""

    def run(self) -> None:
        if self.episodes < 1:
            raise ValueError(f"episodes is {self.episodes}, but must be at least 1")
        if self.model and self.video is not None:
            raise ValueError("--model plays nothing to film; leave --video out")
        if self.video is not None:
            check_path(self.video)
        agent = load_best(self.run_directory)
        if self.model:
            self._foresee(agent)
            return
        table = Table("seed", "greedy return", "stochastic return", title=str(self.run_directory))
        for index, seed in enumerate(agent.seeds):
            means = [
                mean_return(
                    agent.play(
                        agent.policy(index),
                        episodes=self.episodes,
                        seed=self.seed + seed,
                        greedy=greedy,
                    )
                )
                for greedy in (True, False)
            ]
            table.add_row(str(seed), *(f"{mean:.1f}" for mean in means))
        expert = RunDirectory.open(self.run_directory).config.get("expert_return")
        if expert is not None:
            table.caption = f"expert {expert:.1f}"
        console.print(table)
        if self.video is not None:
            host = HostPolicy.single(agent.policy())
            total = film(agent.factory, host, self.video, seed=self.seed, expert_return=expert)
            console.print(f"{self.video}: an episode of return {total:.1f}", highlight=False)

    def _foresee(self, agent: Agent) -> None:
        if not isinstance(agent, MobILE):
            raise ValueError(f"{agent.method} learns no model of the environment")
        best = agent.best_seed
        seed = self.seed + agent.seeds[best]
        episodes = agent.play(agent.policy(), episodes=self.episodes, seed=seed, greedy=False)
        model = one_seed(agent.state.dynamics, best).model
        table = Table("steps ahead", "error", "if nothing changed", title=str(self.run_directory))
        for row in prediction_errors(model, agent.problem.actions, list(episodes)):
            table.add_row(str(row.steps), f"{row.error:.3f}", f"{row.unchanged:.3f}")
        table.caption = "medians, in deviations of the states visited"
        console.print(table)


def _dynamics(name: str | None) -> tuple[str, ...]:
    if name is None:
        return ()
    if name not in DYNAMICS:
        raise ValueError(f"unknown dynamics {name!r}; there are: {', '.join(DYNAMICS)}")
    return (f"dynamics={DYNAMICS[name].__name__}",)


def _absolute(path: str | None) -> str | None:
    """A run must find its demonstrations again from anywhere."""
    return None if path is None else str(Path(path).resolve())


def show(summary: dict[str, Any], out: Path) -> None:
    """The result of a run as a table."""
    number = lambda x, digits=2: "-" if x is None else f"{x:.{digits}f}"
    online = METHODS[summary["method"]].needs.environment
    table = Table(
        "seed",
        "greedy return",
        "greedy score",
        "stochastic return",
        "stochastic score",
        "chosen at sample" if online else "chosen at pass",
        title=f"{summary['method']} on {summary['env']}",
    )
    for seed in summary["seeds"]:
        table.add_row(
            str(seed["seed"]),
            number(seed["greedy_return"], 1),
            number(seed["greedy_score"]),
            number(seed["stochastic_return"], 1),
            number(seed["stochastic_score"]),
            str(seed["chosen_at" if online else "chosen_iteration"]),
        )
    mean, seconds = summary["mean"], summary["seconds"]
    for rule, scores in _alternatives(summary).items():
        table.add_section()
        table.add_row(rule, "", number(scores[0]), "", number(scores[1]))
    table.add_section()
    table.add_row("mean", "", number(mean["greedy_score"]), "", number(mean["stochastic_score"]))
    table.caption = (
        f"score 1 is the expert's return of {number(summary['expert_return'], 1)}; "
        f"{summary['online_samples']} online samples per seed; policies chosen by "
        f"{summary['chosen_by']}"
    )
    console.print(table)
    for remark in summary["remarks"]:
        console.print(remark, markup=False, highlight=False, soft_wrap=True)
    picture = out / "curves.png"
    drawn = str(picture) if picture.exists() else "not drawn, install ilfo[report]"
    console.print(
        f"{seconds['total']:.0f} s (compiling {seconds['compile']:.0f} s)  "
        f"run directory: {out}  learning curves: {drawn}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _alternatives(summary: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Mean scores of the policies that other rules have chosen."""
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in summary["seeds"]:
        for each in seed.get("alternatives", ()):
            found.setdefault(each["rule"], []).append(each)
    return {
        rule: (
            mean_known([each["greedy_score"] for each in scores]),
            mean_known([each["stochastic_score"] for each in scores]),
        )
        for rule, scores in found.items()
    }
