"""`ilfo train`, `ilfo resume` and `ilfo evaluate`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from ilfo.agents.agent import Agent
from ilfo.agents.callbacks import Callback
from ilfo.agents.progress import Progress
from ilfo.agents.registry import DYNAMICS
from ilfo.agents.seeds import one_seed
from ilfo.cli.console import console, say
from ilfo.cli.options import MethodName
from ilfo.cli.recordings import LayoutOptions, absolute, stated
from ilfo.environments.factory import located, split_options
from ilfo.methods.mobile import MobILE
from ilfo.policies.host import HostPolicy
from ilfo.reports.results import result_table
from ilfo.rollouts.beside_expert import Recording, film_beside_expert, first_recording
from ilfo.rollouts.episodes import mean_return
from ilfo.rollouts.film_files import check_film
from ilfo.rollouts.model_error import prediction_errors
from ilfo.rollouts.scores import score
from ilfo.rollouts.video import NoPictureError, check_rendering, film
from ilfo.runs import machine
from ilfo.runs.checks import changes, warning_of
from ilfo.runs.directory import RunDirectory, kept_on_disk
from ilfo.runs.launch import resume, start
from ilfo.runs.loading import load_best
from ilfo.runs.spec import STATED, RunSpec, expert_return_of, spec_of
from ilfo.runs.tensorboard import TensorBoard


@dataclass(frozen=True)
class Train(LayoutOptions):
    """Train a policy on a built-in task or on your own environment."""

    method: tyro.conf.Positional[MethodName] = "mobile"
    """Method to train."""
    task: str | None = None
    """Built-in task; cartpole unless --env and --demos are given."""
    env: str | None = None
    """Id of a Gymnasium environment; package:Id imports the package first. Also package:Class and
    file.py:Class, a class or a function that makes one."""
    env_set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Options of the environment, e.g. mass=1.3 motors=0.8 for another body."""
    demos: str | None = None
    """Demonstrations: an .npz, .npy, .csv or .parquet file, a folder of such files, or minari:ID;
    see `ilfo demos inspect`."""
    trajectories: int | None = None
    """Number of demonstrations to use, the first ones; by default the task's number, or all."""
    every: int | None = None
    """Control steps between two recorded states, e.g. 4; by default what the file says, or 1."""
    rate: str | None = None
    """In place of --every: frames per second of the recordings, e.g. 25Hz."""
    observe: tuple[str, ...] = ()
    """Dimensions of the state that the recordings hold, e.g. 0 1 5, `positions` (MuJoCo) or a
    part of a Dict such as achieved_goal; by default what the file says, or all."""
    expert_return: float | None = None
    """The expert's mean return, for scores; by default what the recordings say. Training does not
    use it."""
    seeds: int = 1
    """Number of seeds, trained in parallel."""
    first_seed: int = 0
    """The first seed; the others follow it."""
    total_timesteps: int | None = None
    """Environment steps per seed; built-in tasks have a default."""
    out: Path | None = None
    """Run directory, new or empty; runs/NAME-TIME by default."""
    horizon: int | None = None
    """Maximum episode length; by default the environment's own time limit."""
    preset: str = "default"
    """Named set of hyper-parameters."""
    dynamics: str | None = None
    """Dynamics model: ensemble, knr, gp or tabular; short for --set dynamics=CLASS."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Hyper-parameters to change, e.g. weight=0 planner.kl=0.05; `ilfo settings` lists them."""
    evaluate_every: int = 1
    """Iterations between measurements of the true return; training does not use it."""
    devices: int | None = None
    """Seeds computed at the same time, one per core by default; exact results depend on it."""
    tensorboard: bool = False
    """Write event files for TensorBoard to the run directory; needs the extra tensorboard."""
    accept_anyway: bool = False
    """Train even if the recordings look wrong for the environment; `ilfo doctor` says why."""

    def run(self) -> None:
        if self.task and (self.env or self.demos):
            raise ValueError("give either --task, or --env with --demos, not both")
        task = None if self.env or self.demos else self.task or "cartpole"
        every, observe = self._statements()
        spec = RunSpec(
            method=self.method,
            task=task,
            env=None if self.env is None else located(self.env),
            env_set=self.env_set,
            demos=None if self.demos is None else absolute(self.demos),
            **self.layout(),
            trajectories=self.trajectories,
            every=every,
            observe=observe,
            expert_return=self.expert_return,
            horizon=self.horizon,
            seeds=self.seeds,
            first_seed=self.first_seed,
            total_timesteps=self.total_timesteps,
            preset=self.preset,
            changes=(*_dynamics(self.dynamics), *self.set),
            accept_anyway=self.accept_anyway,
        )
        name = task or split_options(str(self.env))[0].rpartition(":")[2]
        out = self.out or Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
        here = machine.set_up(self.devices)
        with _saying_what_is_kept(out), Progress(console) as progress:
            progress.doing("reading the recordings")
            watching = [progress, *_tensorboard(out, self.tensorboard)]
            summary = start(spec, out, here, watching, self.evaluate_every)
        show(summary, out)

    def _statements(self) -> tuple[int | None, tuple[int, ...]]:
        """What is said of the recordings: control steps between states, dimensions they hold."""
        if self.env is not None:
            return stated(self.env, self.horizon, self.every, self.rate, self.observe)
        if self.rate or self.observe:
            raise ValueError(STATED)
        return self.every, ()


@dataclass(frozen=True)
class Resume:
    """Resume a run that was stopped.

    The result is the same as without the stop, unless --anyway accepts another machine.
    """

    run_directory: tyro.conf.Positional[Path]
    """Run directory."""
    total_timesteps: int | None = None
    """New total of environment steps per seed; by default the run's own."""
    devices: int | None = None
    """Must equal the --devices of the run; one per core by default."""
    expert_return: float | None = None
    """The expert's mean return, where the recordings do not say it: the summary then has scores."""
    anyway: bool = False
    """Resume with other cores, devices, versions or code, too: numbers differ from those of an
    uninterrupted run, first in the last bits, and config and summary say so."""
    tensorboard: bool = False
    """Write event files for TensorBoard to the run directory; needs the extra tensorboard."""
    trust_env: str | None = None
    """Module or file whose code the run's environment may run, e.g. my_package for
    my_package:MyEnv-v0, my_env.py for my_env.py:MyEnv."""

    def run(self) -> None:
        here = machine.set_up(self.devices)
        if self.anyway:
            differing = changes(RunDirectory.open(self.run_directory), here)
            if differing:
                say(warning_of(differing))
        with _saying_what_is_kept(self.run_directory), Progress(console) as progress:
            progress.doing("reading the run")
            watching = [progress, *_tensorboard(self.run_directory, self.tensorboard)]
            summary = resume(
                self.run_directory,
                here,
                watching,
                self.total_timesteps,
                self.trust_env,
                expert_return=self.expert_return,
                anyway=self.anyway,
            )
        show(summary, self.run_directory, resumed=True)


@dataclass(frozen=True)
class Evaluate:
    """Evaluate the selected policies of a run."""

    run_directory: tyro.conf.Positional[Path]
    """Run directory."""
    episodes: int = 50
    """Episodes per seed."""
    seed: int = 1_000
    """Seed of the episodes."""
    video: Path | None = None
    """Also record a greedy episode of the best seed to this file (.gif, .mp4); needs no display."""
    beside_expert: bool = False
    """Show the expert on the left of the video, the learner on the right. The expert's recorded
    states (the run's first demonstration) are replayed in the simulator, or plotted where that is
    not possible; no actions are read."""
    model: bool = False
    """Report the prediction error of the best seed's last model, 1 to 50 steps ahead, instead."""
    trust_env: str | None = None
    """Module or file whose code the run's environment may run, e.g. my_package for
    my_package:MyEnv-v0, my_env.py for my_env.py:MyEnv."""

    def run(self) -> None:
        if self.episodes < 1:
            raise ValueError(f"episodes is {self.episodes}, but must be at least 1")
        if self.model and self.video is not None:
            raise ValueError("--model records no video; leave --video out")
        if self.beside_expert and self.video is None:
            raise ValueError("--beside-expert is a kind of video; add --video FILE.gif")
        if self.video is not None:
            check_film(self.video)
        agent = load_best(self.run_directory, self.trust_env)
        recording = self._recording(agent) if self.beside_expert else None
        if self.video is not None:
            try:
                check_rendering(agent.factory)
            except NoPictureError as error:
                if recording is None:
                    raise NoPictureError(
                        f"{error}; --beside-expert plots the states instead"
                    ) from error
                say(f"{error}; the states of both sides are plotted instead")
                recording = recording.plotted()
        if self.model:
            self._print_model_error(agent)
            return
        columns = ("seed", "greedy return", "greedy score", "stochastic return")
        table = Table(*columns, title=str(self.run_directory))
        run = RunDirectory.open(self.run_directory)
        expert, summary = expert_return_of(run), run.read_summary() or {}
        chance = summary.get("random_return")
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
            greedy, stochastic = means
            reached = None if chance is None else score(greedy, expert, chance)
            shown = "" if reached is None else f"{reached:.2f}"
            table.add_row(str(seed), f"{greedy:.1f}", shown, f"{stochastic:.1f}")
        if expert is not None:
            table.caption = f"expert {expert:.1f}"
        console.print(table)
        if self.video is not None:
            host = HostPolicy.single(agent.policy())
            if recording is None:
                total = film(agent.factory, host, self.video, seed=self.seed, expert_return=expert)
            else:
                total = film_beside_expert(
                    agent.factory, host, recording, self.video, seed=self.seed
                )
            say(f"{self.video}: an episode with return {total:.1f}")

    def _recording(self, agent: Agent) -> Recording:
        spec = spec_of(RunDirectory.open(self.run_directory))
        return first_recording(agent.factory, spec.demonstrations(states_only=True))

    def _print_model_error(self, agent: Agent) -> None:
        if not isinstance(agent, MobILE):
            raise ValueError(
                f"{self.run_directory} is a run of {agent.method.name}, which learns no dynamics "
                "model; leave --model out"
            )
        best = agent.best_seed
        seed = self.seed + agent.seeds[best]
        episodes = agent.play(agent.policy(), episodes=self.episodes, seed=seed, greedy=False)
        model = one_seed(agent.state.dynamics, best).model
        table = Table("steps ahead", "error", "error of no change", title=str(self.run_directory))
        for row in prediction_errors(model, agent.problem.actions, list(episodes)):
            table.add_row(str(row.steps), f"{row.error:.3f}", f"{row.unchanged:.3f}")
        table.caption = (
            "median prediction error on episodes of the stochastic policy, in standard deviations "
            "of the visited states; 'no change' predicts the first state"
        )
        console.print(table)


@contextmanager
def _saying_what_is_kept(run: Path) -> Iterator[None]:
    """Where the user stops training."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; {kept_on_disk(run)}")
        raise


def _dynamics(name: str | None) -> tuple[str, ...]:
    if name is None:
        return ()
    if name not in DYNAMICS:
        raise ValueError(f"unknown dynamics {name!r}; there are: {', '.join(DYNAMICS)}")
    return (f"dynamics={DYNAMICS[name].__name__}",)


def _tensorboard(out: Path, wanted: bool) -> list[Callback]:
    return [TensorBoard(out / "tensorboard")] if wanted else []


def show(summary: dict[str, Any], out: Path, *, resumed: bool = False) -> None:
    """The result of a run as a table. The times of one that was resumed are those of all commands
    together."""
    result = result_table(summary)
    table = Table(title=result.title, caption=result.caption)
    rows = [row for section in result.sections for row in section]
    narrow = sum(len(name) + 3 for name in result.columns) >= console.width
    for name, *cells in zip(result.columns, *rows, strict=True):
        # in a narrow terminal heads are broken between words, never within them
        width = max(map(len, [*name.split(), *cells])) if narrow else None
        table.add_column(name, width=width)
    for section in result.sections:
        for row in section:
            table.add_row(*row)
        table.add_section()
    console.print(table)
    for remark in (*summary["remarks"], *summary["diagnosis"]):
        say(remark)
    picture, seconds = out / "curves.png", summary["seconds"]
    curves = str(picture) if picture.exists() else "not plotted; pip install 'ilfo[report]'"
    before = " (with those before it was resumed)" if resumed else ""
    say(
        f"{seconds['total']:.0f} s in all{before}, {seconds['compile']:.0f} s of them compiling  "
        f"run directory: {out}  learning curves: {curves}"
    )


COMMANDS = {"train": Train, "resume": Resume, "evaluate": Evaluate}
