"""MobILE and the baselines on the paper's tasks, with the same online budget and five seeds.

A cell is TASK-METHOD, with the method's default preset and the paper's number of demonstrations.
`TASK` is MobILE and is run by the sweep `tasks`. `TASK-constant` is the survival reference on real
rollouts: GAIfO's loop with the same cost for every step, whatever the demonstrations show. The
expert and a random policy are in every table. ILPO is for discrete actions only.
"""

from dataclasses import replace

from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import CELLS as TASKS
from ilfo.runs.launch import RunSpec

DISCRETE = ("cartpole", "reacher", "cartpole-stochastic")
CONTINUOUS = ("hopper", "walker2d")
METHODS = ("bc", "bco", "gail", "gaifo", "ilpo")
CONSTANT = ("classifier.cost_form=constant",)


def _cells() -> tuple[Cell, ...]:
    mobile = {cell.name: replace(cell, home="tasks") for cell in TASKS}
    cells = []
    for task in DISCRETE + CONTINUOUS:
        spec = RunSpec(task=task, seeds=5)
        every = 1 if task in DISCRETE else 10
        cells.append(mobile[task])
        for method in METHODS:
            if method == "ilpo" and task in CONTINUOUS:
                continue
            changes = ("every=50",) if method == "bc" and task in CONTINUOUS else ()
            baseline = replace(spec, method=method, changes=changes)
            cells.append(Cell(f"{task}-{method}", baseline, every=1 if method == "bc" else every))
        constant = replace(spec, method="gaifo", changes=CONSTANT)
        cells.append(Cell(f"{task}-constant", constant, every=every))
    return tuple(cells)


CELLS = _cells()
