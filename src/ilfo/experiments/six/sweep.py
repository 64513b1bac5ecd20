"""Does MobILE solve the paper's six tasks? Each with its references.

- `TASK`: the default preset, the paper's number of demonstrations.
- `TASK-no-bonus`: the same with λ = 0.
- `TASK-constant`: a constant cost in the same loop, the survival reference.
- `TASK-paper`, `TASK-authors`, `TASK-general`: the other presets.
"""

from ilfo.environments.tasks import TASKS, Task
from ilfo.experiments.cell import Cell
from ilfo.launch import Order

SAMPLES_BETWEEN = 8_000
"""Online samples from one point of a curve to the next, about."""
SHORT = {"walker2d": 24_000}
"""Online samples for `paper` and `authors` where their 200 passes over a wide model at every
iteration would take hours for a seed."""


def _cells(task: Task) -> list[Cell]:
    few = 1 if task.name == "walker2d" else 2
    short = SHORT.get(task.name)
    variants = {
        "": Order(task=task.name, seeds=5),
        "-no-bonus": Order(task=task.name, seeds=5, changes=("weight=0",)),
        "-constant": Order(task=task.name, seeds=5, changes=("discriminator=ConstantCost",)),
        "-paper": Order(task=task.name, seeds=few, preset="paper", total_timesteps=short),
        "-authors": Order(task=task.name, seeds=few, preset="authors", total_timesteps=short),
        "-general": Order(task=task.name, seeds=few, preset="general"),
    }
    cells = []
    for suffix, order in variants.items():
        samples = order.settings().streams * task.horizon
        between = min(SAMPLES_BETWEEN, (order.total_timesteps or task.budget) // 20)
        every = max(1, between // samples)
        cells.append(Cell(f"{task.name}{suffix}", order, every=every))
    return cells


def _all() -> tuple[Cell, ...]:
    """Defaults and their references of every task first, then the other presets."""
    by_task = [_cells(task) for task in TASKS.values()]
    return tuple(cells[place] for place in range(6) for cells in by_task)


CELLS = _all()
