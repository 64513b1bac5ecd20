"""What a training run trains: the record `RunSpec`, and changes of settings by NAME=VALUE."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ilfo.agents.agent import Agent
from ilfo.agents.registry import COMPONENTS
from ilfo.agents.settings import changed
from ilfo.common.parsing import plain_value
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.npz import PartlyWithoutActions
from ilfo.data.statements import valid_return
from ilfo.environments.factory import with_options
from ilfo.environments.tasks import find_task
from ilfo.methods import METHODS
from ilfo.methods.presets import find_settings
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.storage.config import ConfigError, from_dict

NAMED = COMPONENTS | {
    part.__name__: part for learner in METHODS.values() for part in learner.method.parts
}
"""Components that a change of a setting may name."""


LISTS = ("changes", "env_set", "observe", "states")
"""Fields of a spec that hold several values."""
STATED = (
    "the demonstrations of a task are whole states at the control rate, from resets on; "
    "use --every, --rate and --observe with --demos, and --clips as well; `ilfo demos thin`, "
    "`select` and `clip` make such recordings of a task's"
)
"""Error where something else is said of them."""


@dataclass(frozen=True)
class RunSpec:
    """Everything needed to repeat a run: method, task or environment, demonstrations, budget."""

    method: str = "mobile"
    """Name of the method, one of `ilfo.methods.METHODS`."""
    task: str | None = "cartpole"
    """Name of a task, or None for an environment of your own."""
    env: str | None = None
    """Gymnasium id, `package:Id`, `package:Class` or `file.py:Class`, if there is no task."""
    env_set: tuple[str, ...] = ()
    """Options of the task's environment, or of `env`, as NAME=VALUE."""
    demos: str | None = None
    """File or folder of demonstrations, or `minari:ID`; None for those bundled with the task."""
    trajectories: int | None = None
    """Number of trajectories to use; None for the task's number, or all in `demos`."""
    every: int | None = None
    """Control steps between two recorded states; None for what `demos` says, or 1."""
    observe: tuple[int, ...] = ()
    """Dimensions of the state that `demos` holds; empty for what it says, or all."""
    clips: bool = False
    """Say of `demos` that trajectories begin anywhere, not at a reset."""
    horizon: int | None = None
    """Maximum length of an episode; None for the environment's time limit."""
    seeds: int = 1
    """Number of seeds, trained in parallel."""
    first_seed: int = 0
    """The first seed."""
    total_timesteps: int | None = None
    """Environment steps per seed; None for the task's budget, or a multiple of it where the method
    needs more (`Method.budgets`)."""
    preset: str = "default"
    """Name of the preset."""
    changes: tuple[str, ...] = ()
    """Settings that differ from the preset, as NAME=VALUE."""
    accept_anyway: bool = False
    """Train even if the demonstrations look wrong for the environment."""
    states: tuple[str, ...] = ()
    """Columns of a table `demos` that are the state; empty for all that are nothing else."""
    terminal: bool | str | None = None
    """How the trajectories of a table or of .npy files ended, or the column that says it."""
    episode: str | None = None
    """Column of a table that tells episodes apart; None for `episode`, or for one episode."""
    expert_return: float | None = None
    """The expert's mean return, from which scores are computed; None for what `demos` says."""

    def __post_init__(self):
        if self.method not in METHODS:
            raise ValueError(f"unknown method {self.method!r}; there are: {', '.join(METHODS)}")
        if self.seeds < 1:
            raise ValueError(f"seeds is {self.seeds}, but must be at least 1")
        if self.task is None and self.env is None:
            raise ValueError("no environment is given; use --task, or --env with --demos")
        with_options("", self.env_set)  # or an error
        if (self.every is not None or self.observe or self.clips) and self.demos is None:
            raise ValueError(STATED)
        named = self.states or self.episode is not None or self.terminal is not None
        if named and self.demos is None:
            raise ValueError("--states, --terminal and --episode are about --demos; leave them out")
        valid_return("expert_return", self.expert_return)
        if self.expert_return is not None and self.demos is None:
            raise ValueError(
                "the demonstrations of a task say the expert's return themselves; use "
                "--expert-return with --demos"
            )
        acts = METHODS[self.method].method.needs.environment
        if acts and self.task is None and self.total_timesteps is None:
            raise ValueError("no number of environment steps is given; use --total-timesteps")

    def agent(self) -> Agent:
        """A new, untrained agent."""
        return METHODS[self.method](
            self.environment(),
            self.demonstrations(),
            self.settings(),
            seeds=range(self.first_seed, self.first_seed + self.seeds),
            horizon=self.horizon,
            accept_anyway=self.accept_anyway,
        )

    def environment(self) -> str:
        """The id of the environment, with its options."""
        name = find_task(self.task).environment if self.task else str(self.env)
        return with_options(name, self.env_set)

    def demonstrations(self, *, states_only: bool = False) -> Demonstrations:
        """The demonstrations, with actions only if the method needs them; with `states_only` no
        actions are read in any case."""
        if self.demos is None and self.task is None:
            raise ValueError("an environment needs demonstrations; give both --env and --demos")
        if self.demos is None:
            actions = METHODS[self.method].method.needs.actions and not states_only
            return find_task(str(self.task)).load(self.trajectories, actions=actions)
        loaded = self._load(self.demos, states_only=states_only)
        if self.every is not None:
            loaded = loaded.recorded_every(self.every)
        if self.observe:
            loaded = loaded.holding(self.observe)
        if self.expert_return is not None:
            loaded = loaded.with_expert_return(self.expert_return)
        return loaded if self.trajectories is None else loaded.take(self.trajectories)

    def _load(self, demos: str, *, states_only: bool) -> Demonstrations:
        needs = METHODS[self.method].method.needs
        load = lambda actions: Demonstrations.load(
            demos,
            states=self.states or None,
            terminal=self.terminal,
            episode=self.episode,
            clips=self.clips,
            actions=actions,
        )
        try:
            return load(needs.actions and not states_only)
        except PartlyWithoutActions:
            raise
        except ValueError:
            if needs.actions and not states_only:  # a clearer error if only the actions are missing
                needs.restrict(self.method, load(False))
            raise

    def settings(self) -> Any:
        """The settings of the preset with the changes applied."""
        task = find_task(self.task) if self.task else None
        return apply_changes(find_settings(self.preset, self.method, task), self.changes)

    @property
    def budget(self) -> int | None:
        """Environment steps per seed; None for a method that takes no steps."""
        method = METHODS[self.method].method
        if self.total_timesteps is not None or not method.needs.environment:
            return self.total_timesteps
        return method.budgets * find_task(str(self.task)).budget


def apply_changes(settings: Any, changes: Sequence[str]) -> Any:
    """The settings with changes such as `planner.kl=0.05` or `planner=PPO` applied; see
    `ilfo.agents.settings.changed`."""
    values: list[tuple[str, Any]] = []
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"the change {change!r} has no '='; expected NAME=VALUE")
        values.append((name, plain_value(text)))
    return changed(settings, values, NAMED)


def command_of(spec: RunSpec) -> str:
    """The command that trains this."""
    words = ["ilfo", "train", spec.method]
    default = RunSpec(method=spec.method, total_timesteps=1)
    for field in fields(spec):
        value = getattr(spec, field.name)
        usual = value == getattr(default, field.name) and field.name != "task"
        if usual or field.name in ("method", "changes") or value is None:
            continue
        words.append("--" + field.name.replace("_", "-"))
        flag = isinstance(getattr(default, field.name), bool)
        if not flag:
            words += map(_word, value if isinstance(value, tuple) else [value])
    if spec.changes:
        words += ["--set", *spec.changes]
    return shlex.join(words)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def spec_of(run: RunDirectory) -> RunSpec:
    """The spec that is recorded in a run directory."""
    recorded = run.config.get("spec") or run.config.get("order")  # its name in old runs
    try:
        if not isinstance(recorded, dict):
            raise ConfigError(f"'spec' is {recorded!r}")
        return from_dict(recorded | {"type": RunSpec.__name__}, {RunSpec.__name__: RunSpec})
    except ConfigError as error:
        raise RunError(
            f"{run.path / 'config.json'} does not say what was trained ({error}); it is not a "
            "training run, or was made by another version of ilfo"
        ) from error


def expert_return_of(run: RunDirectory) -> float | None:
    """The expert's mean return: as it was stated, or else as the demonstrations say it."""
    stated = spec_of(run).expert_return
    if stated is not None:
        return stated
    try:
        return valid_return("expert_return", run.config.get("expert_return"))
    except ValueError as error:
        raise RunError(f"{run.path / 'config.json'}: {error}; restore it") from error


def to_json(spec: RunSpec) -> dict[str, Any]:
    """The spec as a dict for `config.json`, with the budget filled in."""
    lists = {name: list(getattr(spec, name)) for name in LISTS}
    return asdict(spec) | {"total_timesteps": spec.budget} | lists
