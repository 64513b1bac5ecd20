"""MobILE and the baselines on the paper's tasks.

A cell is TASK-METHOD, with the method's default preset and the paper's number of demonstrations.
`TASK` and `TASK-none` are MobILE with and without inferred actions, run by the sweep `tasks`.
BC-O, which infers actions too, has the budget and the seeds of `TASK`; the methods that match
distributions have the larger budget of `LONG` and five seeds. `TASK-constant` is the survival
reference on real rollouts: GAIfO's loop with the same cost for every step, whatever the
demonstrations show. The expert and a random policy are in every table. ILPO is for discrete actions
only.
"""

from dataclasses import replace

from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import CELLS as TASKS
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.runs.spec import RunSpec

DISCRETE = ("cartpole", "reacher", "cartpole-stochastic")
CONTINUOUS = ("swimmer", "hopper", "walker2d")
METHODS = ("bc", "bco", "gail", "gaifo", "ilpo")
CONSTANT = ("classifier.cost_form=constant",)
LONG = {
    "cartpole": 20_000,
    "cartpole-stochastic": 30_000,
    "reacher": 20_000,
    "swimmer": 40_000,
    "hopper": 120_000,
    "walker2d": 120_000,
}
"""Environment steps of the methods that match distributions."""


def _cells() -> tuple[Cell, ...]:
    mobile = {cell.name: replace(cell, home="tasks") for cell in TASKS}
    cells = []
    for task in DISCRETE + CONTINUOUS:
        cells += [mobile[task], mobile[f"{task}-none"]]
        for method in METHODS:
            if method == "ilpo" and task in CONTINUOUS:
                continue
            cells.append(Cell(f"{task}-{method}", _spec(task, method), every=_every(task, method)))
        constant = replace(_spec(task, "gaifo"), changes=CONSTANT)
        cells.append(Cell(f"{task}-constant", constant, every=_every(task, "gaifo")))
    return tuple(cells)


def _spec(task: str, method: str) -> RunSpec:
    if method == "bc":  # takes no environment steps
        changes = ("every=50",) if task in CONTINUOUS else ()
        return RunSpec(task=task, method=method, seeds=5, changes=changes)
    spec = RunSpec(task=task, method=method, seeds=10, first_seed=FIRST_SEED)
    return spec if method == "bco" else replace(spec, seeds=5, total_timesteps=LONG[task])


def _every(task: str, method: str) -> int:
    return 10 if method in ("gail", "gaifo") and task in CONTINUOUS else 1


CELLS = _cells()
