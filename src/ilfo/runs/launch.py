"""Starting and resuming training runs that leave a directory behind."""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ilfo.agents.agent import Agent
from ilfo.agents.callbacks import Callback
from ilfo.agents.divergence import DivergenceError
from ilfo.agents.method import LearningWarning
from ilfo.agents.registry import COMPONENTS
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.npz import PartlyWithoutActions
from ilfo.environments.factory import Environment
from ilfo.environments.tasks import find_task
from ilfo.methods import METHODS
from ilfo.methods.presets import find_settings
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.recorder import Recorder
from ilfo.storage import config
from ilfo.storage.checkpoint import CheckpointError, read_meta
from ilfo.storage.provenance import commit, source, versions


class TrainingError(Exception):
    """Something failed while training was under way; what it was is the cause of this error."""


@dataclass(frozen=True)
class RunSpec:
    """What to train, on what, and how long: all that a run needs to be repeated."""

    method: str = "mobile"
    task: str | None = "cartpole"
    env: str | None = None
    demos: str | None = None
    trajectories: int | None = None
    horizon: int | None = None
    seeds: int = 1
    first_seed: int = 0
    total_timesteps: int | None = None
    preset: str = "default"
    changes: tuple[str, ...] = ()
    """Settings that differ from the preset, as NAME=VALUE."""

    def __post_init__(self):
        if self.method not in METHODS:
            raise ValueError(f"unknown method {self.method!r}; there are: {', '.join(METHODS)}")
        if self.seeds < 1:
            raise ValueError(f"seeds is {self.seeds}, but must be at least 1")
        if self.task is None and self.env is None:
            raise ValueError("say what to learn in: --task, or --env with --demos")
        acts = METHODS[self.method].method.needs.environment
        if acts and self.task is None and self.total_timesteps is None:
            raise ValueError("say how many environment steps may be taken: --total-timesteps")

    def agent(self) -> Agent:
        return METHODS[self.method](
            self.environment(),
            self.demonstrations(),
            self.settings(),
            seeds=range(self.first_seed, self.first_seed + self.seeds),
            horizon=self.horizon,
        )

    def environment(self) -> Environment:
        return find_task(self.task).environment if self.task else str(self.env)

    def demonstrations(self, *, states_only: bool = False) -> Demonstrations:
        """With `states_only` no actions are read, even where the method needs them."""
        if self.demos is None and self.task is None:
            raise ValueError("an environment needs demonstrations: give both --env and --demos")
        if self.demos is None:
            actions = METHODS[self.method].method.needs.actions and not states_only
            return find_task(str(self.task)).load(self.trajectories, actions=actions)
        loaded = Demonstrations.load(self.demos) if states_only else self._load(self.demos)
        return loaded if self.trajectories is None else loaded.take(self.trajectories)

    def _load(self, demos: str) -> Demonstrations:
        needs = METHODS[self.method].method.needs
        try:
            return Demonstrations.load(demos, actions=needs.actions)
        except PartlyWithoutActions:
            raise
        except ValueError:
            if needs.actions:  # is it only they that are missing?
                needs.restrict(self.method, Demonstrations.load(demos))
            raise

    def settings(self) -> Any:
        task = find_task(self.task) if self.task else None
        settings = find_settings(self.preset, self.method, task)
        for change in self.changes:
            settings = apply_change(settings, change)
        return settings

    @property
    def budget(self) -> int | None:
        """Environment steps per seed; None for a method that takes none."""
        if self.total_timesteps is not None or not METHODS[self.method].method.needs.environment:
            return self.total_timesteps
        return find_task(str(self.task)).budget


def apply_change(settings: Any, change: str) -> Any:
    """`planner.kl=0.02`, `planner=PPO`, `discriminator.clip_max=0`. A part that wraps another, as
    `discriminator=ConstantCost` does, wraps the one that was there."""
    name, equals, text = change.partition("=")
    if not equals:
        raise ValueError(f"a setting is changed by NAME=VALUE, but this has no '=': {change!r}")
    if text in COMPONENTS:
        return config.override(settings, name, _component(text, config.lookup(settings, name)))
    return config.override(settings, name, _value(text))


def _component(name: str, present: Any) -> Any:
    kind = COMPONENTS[name]
    try:
        return kind(wrapped=present) if "wrapped" in kind.__dataclass_fields__ else kind()
    except TypeError as error:
        raise ValueError(f"{name} cannot be chosen by its name alone: {error}") from error


def _value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def start(
    spec: RunSpec,
    out: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
    every: int = 1,
) -> dict[str, Any]:
    """Train into a new directory and return the summary."""
    if every < 1:
        raise ValueError(f"returns are measured every {every} iterations, but that must be >= 1")
    agent = spec.agent()
    description = {
        "spec": _plain(spec),
        "commit": commit(),
        "source": source(),
        "evaluate_every": every,
        "machine": dict(machine),
        "demonstrations": fingerprint(agent.demonstrations),
        "expert_return": agent.demonstrations.expert_return,
    }
    agent.check_budget(spec.budget)
    with RunDirectory.create(out, description | agent.describe()) as run:
        return _train(agent, spec, run, machine, callbacks)


def resume(
    path: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
    total_timesteps: int | None = None,
) -> dict[str, Any]:
    """Go on from the last checkpoint of a run, as if it had never stopped."""
    with RunDirectory.open(path, write=True) as run:
        spec = spec_of(run)
        _check_same(run, machine, spec)
        if total_timesteps is not None:
            spec = replace(spec, total_timesteps=total_timesteps)
        agent = spec.agent()
        agent.check_budget(spec.budget)
        _check_settings(run, agent)
        last = run.path_of("last")
        done = max((row["iteration"] for row in run.rows("metrics")), default=0)
        if not last.exists() and done > 1:
            raise RunError(
                f"{last} is missing although {done} iterations are on record; put it back, or "
                "start a new run"
            )
        if (spec.budget or 0) < (done - 1) * agent.samples_per_iteration:
            raise RunError(
                f"{path} has taken {done * agent.samples_per_iteration} samples per seed already, "
                f"more than the {spec.budget} that were asked for"
            )
        # written down at once: should this process be killed too, the next one knows the budget
        run.update_config({"spec": _plain(spec)})
        done = 0
        if last.exists():
            agent = type(agent).load(last, spec.environment(), agent.demonstrations)
            done = agent.iteration
        run.cut_back(done)
        return _train(agent, spec, run, machine, callbacks)


def spec_of(run: RunDirectory) -> RunSpec:
    try:
        given = dict(run.config.get("spec") or run.config["order"])  # its name in old runs
        return RunSpec(**given | {"changes": tuple(given["changes"])})
    except (KeyError, TypeError) as error:
        raise RunError(
            f"{run.path / 'config.json'} does not tell what was trained ({error}); it is no "
            "training run, or one of another version of ilfo"
        ) from error


def _plain(spec: RunSpec) -> dict[str, Any]:
    return asdict(spec) | {"total_timesteps": spec.budget, "changes": list(spec.changes)}


def _train(agent, spec, run, machine, callbacks) -> dict[str, Any]:
    facts = {"task": spec.task, "preset": spec.preset, "changes": list(spec.changes)}
    recorder = Recorder(run, facts | dict(machine), run.config["evaluate_every"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearningWarning)  # the summary has them
            agent.learn(spec.budget, callback=[recorder, *callbacks])
        return recorder.finish(agent)
    except (DivergenceError, OSError):
        raise
    except Exception as error:  # of the environment, most likely: not for us to understand
        raise TrainingError(
            f"training failed after iteration {agent.iteration}; {run.path} is kept up to there, "
            "and `ilfo resume` goes on from it"
        ) from error


def _check_same(run: RunDirectory, machine: Mapping[str, int], spec: RunSpec) -> None:
    """Refuse to continue where the result could not equal an undisturbed run's."""
    made_by, here = run.config["versions"], versions()
    differing = [name for name in here if made_by.get(name) != here[name]]
    if differing:
        was = ", ".join(f"{name} {made_by.get(name)} (now {here[name]})" for name in differing)
        raise RunError(
            f"{run.path} was made with {was}; install those versions to resume it, or start a "
            "new run"
        )
    if run.config["machine"] != dict(machine):
        raise RunError(
            f"{run.path} was made with {run.config['machine']}, but this process has "
            f"{dict(machine)}: results would differ in the last bits and then altogether; "
            "--devices sets the number of devices"
        )
    if run.config.get("source") != source():
        raise RunError(
            f"{run.path} was made by commit {run.config['commit']}, but this is {commit()}; check "
            "that one out to resume it, or start a new run"
        )
    if run.config["demonstrations"] != fingerprint(spec.demonstrations()):
        raise RunError(f"the demonstrations are not those that {run.path} was started with")


def _check_settings(run: RunDirectory, agent: Agent) -> None:
    """The same spec can mean other settings in other code of the same version."""
    if run.config["settings"] != agent.describe()["settings"]:
        raise RunError(
            f"{run.path} was made with other settings than its preset has now; check out the "
            f"commit it was made with ({run.config.get('commit')}), or start a new run"
        )


def load_best(path: Path) -> Agent:
    """The agent of a run as it was when its policies were chosen. It can predict and play; the
    demonstrations are not read."""
    run = RunDirectory.open(path)
    best, spec = run.path_of("best"), spec_of(run)
    if not best.exists():
        raise CheckpointError(f"{path} has no checkpoint yet; its first iteration is not over")
    return load_agent(best, spec.environment())


def load_agent(path: Path, environment: Environment | None = None) -> Agent:
    """An agent of whatever method the file says."""
    method = read_meta(path).get("method")
    if method not in METHODS:
        raise CheckpointError(f"{path} holds an agent of method {method!r}, which is unknown here")
    return METHODS[method].load(path, environment)


def fingerprint(demonstrations: Demonstrations) -> str:
    """Tells sets of demonstrations apart, by their actions too where these are to be seen."""
    digest = hashlib.sha256()
    for trajectory in demonstrations:
        digest.update(trajectory.states.tobytes() + bytes([trajectory.terminal]))
        if trajectory.actions is not None:
            digest.update(trajectory.actions.tobytes())
    return digest.hexdigest()
