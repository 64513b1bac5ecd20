"""MobILE on the paper's six tasks, with reference runs.

- `TASK`: the default preset, the paper's number of demonstrations.
- `TASK-no-bonus`: the same with λ = 0.
- `TASK-constant`: a constant cost in the same loop, the survival reference.
- `TASK-paper`, `TASK-authors`, `TASK-general`: the other presets.
- `walker2d-long`: the default preset with a larger budget.
"""

from ilfo.environments.tasks import TASKS, Task, find_task
from ilfo.experiments.cell import Cell
from ilfo.methods.paper import PAPER
from ilfo.runs.launch import RunSpec

SAMPLES_BETWEEN = 8_000
"""Approximate number of environment steps between two points of a learning curve."""
SHORT = {"swimmer": 12_000, "walker2d": 12_000}
"""Environment steps for `paper` and `authors` on tasks where their 100 or 200 passes per iteration
over a wide model would take too long."""
LONG = {"walker2d": 200_000}
"""Environment steps, to see whether the default's curve still rises after the task's budget."""


def _cell(name: str, spec: RunSpec) -> Cell:
    task = find_task(str(spec.task))
    between = min(SAMPLES_BETWEEN, (spec.total_timesteps or task.budget) // 20)
    samples = spec.settings().streams * task.horizon
    return Cell(name, spec, every=max(1, between // samples))


def _variants(task: Task) -> list[Cell]:
    few = 1 if task.name == "walker2d" else 2
    short = SHORT.get(task.name)
    variants = {
        "": RunSpec(task=task.name, seeds=5),
        "-no-bonus": RunSpec(task=task.name, seeds=5, changes=("weight=0",)),
        "-constant": RunSpec(task=task.name, seeds=5, changes=("discriminator=ConstantCost",)),
        "-paper": RunSpec(task=task.name, seeds=few, preset="paper", total_timesteps=short),
        "-authors": RunSpec(task=task.name, seeds=few, preset="authors", total_timesteps=short),
        "-general": RunSpec(task=task.name, seeds=few, preset="general"),
    }
    return [_cell(task.name + suffix, spec) for suffix, spec in variants.items()]


def _all() -> tuple[Cell, ...]:
    """First the default preset and its references for every task, then the other presets."""
    by_task = [_variants(task) for task in TASKS.values() if task.name in PAPER]
    long = [
        _cell(f"{name}-long", RunSpec(task=name, seeds=5, total_timesteps=samples))
        for name, samples in LONG.items()
    ]
    return (*(cell for variant in zip(*by_task, strict=True) for cell in variant), *long)


CELLS = _all()
