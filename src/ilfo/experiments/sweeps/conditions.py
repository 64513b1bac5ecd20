"""Recordings as they really are: who survives what?

A cell is TASK-CONDITION for the default of MobILE, TASK-CONDITION-METHOD for the others: `none` is
the default with nothing inferred, `bco`, `gaifo` and `dacfo` are the baselines. All have the same
budget and the same recordings, which are made of the bundled ones. BC-O has to see whole states, so
it has no cell with positions only; DACfO has to act continuously.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ilfo.data.altered import clips, noisy, select, thin
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import find_task
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.runs.spec import RunSpec

BUDGET = {"hopper": 40_000, "reacher": 5_000, "walker2d": 40_000}
"""Environment steps of every method."""
SEEDS = {"hopper": 5, "reacher": 5, "walker2d": 3}
POSITIONS = {
    "hopper": range(1, 6),
    "walker2d": range(1, 9),
    "reacher": (0, 1, 2, 3, 4, 5, 8, 9),
}
"""Dimensions of the state that are positions: no velocities, and no progress along x."""
OTHER_BODY = ("mass=1.3", "motors=0.8")
LEVELS = {"hopper": ("bins=5",), "walker2d": ("bins=5",), "reacher": ("bins=3",)}
"""The learner's levels per joint. The experts of Hopper and Walker2d acted continuously, that of
Reacher with five levels."""
DISCRETE = ("reacher",)
"""Tasks whose actions are discrete under every condition."""
METHODS = {"": "mobile", "none": "mobile", "bco": "bco", "gaifo": "gaifo", "dacfo": "dacfo"}
"""Suffix of a cell's name: the method."""
POINTS = 20
"""Points of a learning curve."""

Alteration = Callable[[Demonstrations, str], Demonstrations]


@dataclass(frozen=True)
class Condition:
    """How the recordings, or the learner's body, differ from the best case."""

    label: str
    """In tables."""
    alter: Alteration | None = None
    """Makes the recordings of the bundled ones, given the task's name; None leaves them."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By task: options of the learner's environment."""
    trajectories: int | None = None
    """Number of recordings; None for the task's."""
    states: bool = True
    """Whether recordings hold whole states."""


CONDITIONS = {
    "recorded": Condition("as recorded"),
    "every4": Condition("every 4th state", lambda demos, task: thin(demos, 4)),
    "every8": Condition("every 8th state", lambda demos, task: thin(demos, 8)),
    "positions": Condition(
        "positions only",
        lambda demos, task: select(demos, list(POSITIONS[task])),
        states=False,
    ),
    "noise": Condition("20 % noise", lambda demos, task: noisy(demos, 0.2)),
    "one": Condition("one demonstration", trajectories=1),
    "clips": Condition("20 clips of 20 states", lambda demos, task: clips(demos, 20, 20)),
    "body": Condition(
        "mass 1.3, motors 0.8", options=dict.fromkeys(("hopper", "reacher", "walker2d"), OTHER_BODY)
    ),
    "discrete": Condition("discrete learner", options=LEVELS),
}
"""By name, in the order of tables."""
ON = {
    "hopper": tuple(CONDITIONS),
    "reacher": tuple(CONDITIONS),
    "walker2d": ("every4", "positions", "clips", "body"),
}
"""The conditions of each task."""


def recordings(task: str, condition: str) -> Demonstrations:
    """The recordings of a condition; always the same."""
    kind = CONDITIONS[condition]
    bundled = find_task(task).load(kind.trajectories)
    return bundled if kind.alter is None else kind.alter(bundled, task)


def cell_name(task: str, condition: str, method: str = "") -> str:
    """`method` is a suffix, a key of `METHODS`."""
    return "-".join(part for part in (task, condition, method) if part)


def possible(task: str, condition: str, method: str) -> bool:
    """Whether the method can learn from such recordings, with such a body."""
    if METHODS[method] == "dacfo":
        return task not in DISCRETE and condition != "discrete"
    return METHODS[method] != "bco" or CONDITIONS[condition].states


def methods_of(task: str) -> tuple[str, ...]:
    """Suffixes of the methods that can learn the task under some condition."""
    return tuple(
        method for method in METHODS if any(possible(task, each, method) for each in ON[task])
    )


def _cell(task: str, condition: str, method: str) -> Cell:
    kind = CONDITIONS[condition]
    spec = RunSpec(
        task=task,
        method=METHODS[method],
        env_set=tuple(kind.options.get(task, ())),
        trajectories=kind.trajectories,
        seeds=SEEDS[task],
        first_seed=FIRST_SEED,
        total_timesteps=BUDGET[task],
        changes=("inference=none",) if method == "none" else (),
    )
    samples = spec.settings().streams * find_task(task).horizon
    every = max(1, BUDGET[task] // POINTS // samples)
    record = None if kind.alter is None else partial(recordings, task, condition)
    return Cell(cell_name(task, condition, method), spec, record, every=every)


CELLS = tuple(
    _cell(task, condition, method)
    for task, conditions in ON.items()
    for condition in conditions
    for method in methods_of(task)
    if possible(task, condition, method)
)
