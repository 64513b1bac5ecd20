"""The exploration suite: tasks where the demonstrated states are hard to find by accident.

- `TASK`: λ at its default of 0.1; `TASK-no-bonus`: λ = 0; `TASK-0.3`: λ = 0.3.
- `TASK-no-starts*`: no imagined trajectory begins in a demonstrated state, instead of one in five.
- `lock-knr*`, `lock-gp*`: another model, and its bonus; `lock-knr-theorem`: the theorem's bonus.
- `TASK-clone*`: actions are inferred, as in the default preset.

`half-cheetah` is a stock task with one demonstration of its stochastic expert; the other tasks have
ten of a scripted one. Nothing is inferred but in `TASK-clone*`: the default preset's first 800
environment steps are random, which is exploring of another kind. docs/results/exploration.md has
the protocol, which was fixed before any seed of a task was run.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.stock import load
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.experts.exploring import record_expert
from ilfo.runs.spec import RunSpec

SEEDS = 10
POINTS = 20
"""Points of a learning curve."""
LEAST_STEPS = 120
"""Environment steps of an iteration at least; more episodes of it where they are short."""
WEIGHTS = {"": (), "-no-bonus": ("weight=0",), "-0.3": ("weight=0.3",)}
"""λ; no change is its default."""


class Problem(NamedTuple):
    environment: str
    horizon: int
    samples: int
    """Environment steps per seed."""
    record: Callable[[], Demonstrations]
    """Makes the demonstrations."""
    visits: tuple[tuple[float, float, int], ...] | None = None


def _scripted(
    environment: str,
    horizon: int,
    samples: int,
    visits: tuple[tuple[float, float, int], ...] | None = None,
) -> Problem:
    """A task with ten demonstrations of its scripted expert."""
    record = partial(record_expert, environment, horizon)
    return Problem(environment, horizon, samples, record, visits)


PROBLEMS: Mapping[str, Problem] = {
    "deepsea10": _scripted("ilfo/DeepSea10-v0", 10, 3_000),
    "deepsea20": _scripted("ilfo/DeepSea20-v0", 20, 6_000),
    "deepsea40": _scripted("ilfo/DeepSea40-v0", 40, 12_000),
    "lock": _scripted(
        "ilfo/CombinationLock-v0", 8, 4_000, ((-0.0625, 1.0625, 9), (-1.55, 0.55, 21))
    ),
    "maze": _scripted("ilfo/DecoyMaze-v0", 100, 12_000, ((0.0, 11.0, 44), (0.0, 9.0, 36))),
    "mountain-car": _scripted("MountainCarContinuous-v0", 300, 18_000),
    "half-cheetah": Problem("HalfCheetah-v5", 1_000, 40_000, partial(load, "HalfCheetah-v5", 1)),
}
PLAIN = ("inference=none",)
NO_STARTS = ("expert_starts=0",)
MODELS = {"knr": "KNRDynamics", "gp": "GPDynamics"}
THEOREM = ("bonus=CalibratedBonus", "balanced=false", f"weight={16 / 17:.4f}")
"""λ = 2H / (1 + 2H) with the lock's H of 8, where cost and bonus are not brought to one scale."""


def _cell(task: str, suffix: str, changes: tuple[str, ...]) -> Cell:
    problem = PROBLEMS[task]
    streams = max(2, LEAST_STEPS // problem.horizon)
    spec = RunSpec(
        task=None,
        env=problem.environment,
        horizon=problem.horizon,
        seeds=SEEDS,
        first_seed=FIRST_SEED,
        total_timesteps=problem.samples,
        changes=(f"streams={streams}", *changes),
    )
    every = max(1, problem.samples // (streams * problem.horizon) // POINTS)
    return Cell(f"{task}{suffix}", spec, problem.record, visits=problem.visits, every=every)


def _cells() -> tuple[Cell, ...]:
    cells = [
        _cell(task, suffix, (*PLAIN, *weight))
        for suffix, weight in WEIGHTS.items()
        for task in PROBLEMS
    ]
    for suffix in ("", "-no-bonus"):
        weight = WEIGHTS[suffix]
        for task in ("lock", "maze"):
            cells += [
                _cell(task, f"-no-starts{suffix}", (*PLAIN, *NO_STARTS, *weight)),
                _cell(task, f"-clone{suffix}", weight),
            ]
        for name, model in MODELS.items():
            cells.append(_cell("lock", f"-{name}{suffix}", (*PLAIN, f"dynamics={model}", *weight)))
    cells.append(_cell("lock", "-knr-theorem", (*PLAIN, "dynamics=KNRDynamics", *THEOREM)))
    return tuple(cells)


CELLS = _cells()

FAMILIES: Mapping[str, Mapping[str, str]] = {
    "λ = 0.1": {task: f"{task}-no-bonus" for task in PROBLEMS},
    "λ = 0.3": {f"{task}-0.3": f"{task}-no-bonus" for task in PROBLEMS},
    "λ = 0.1, no starts in demonstrated states": {
        f"{task}-no-starts": f"{task}-no-starts-no-bonus" for task in ("lock", "maze")
    },
    "λ = 0.1, actions inferred": {
        f"{task}-clone": f"{task}-clone-no-bonus" for task in ("lock", "maze")
    },
    "other models": {
        "lock-knr": "lock-knr-no-bonus",
        "lock-gp": "lock-gp-no-bonus",
        "lock-knr-theorem": "lock-knr-no-bonus",
    },
}
"""Comparisons that are corrected together: cell, and the cell without bonus that it is tested
against."""
