"""Fewer recordings, and those of an expert without noise: Hopper and Walker2d.

- `TASK-1`: one demonstration, ten seeds.
- `TASK-greedy`: ten demonstrations of an expert that acts greedily, so that they do not show how to
  recover from small errors; five seeds.
- `TASK-greedy-none`: the same without inferred actions.
"""

from ilfo.environments.tasks import find_task
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.runs.spec import RunSpec

ON = ("hopper", "walker2d")
ONE, GREEDY = 16_000, 40_000
"""Environment steps with one demonstration, and with those of a greedy expert."""
EVERY = 2


def _cells() -> tuple[Cell, ...]:
    cells = []
    for task in map(find_task, ON):
        spec = lambda seeds, samples, task=task.name, **fields: RunSpec(
            task=task, seeds=seeds, first_seed=FIRST_SEED, total_timesteps=samples, **fields
        )
        none = spec(5, GREEDY, changes=("inference=none",))
        cells += [
            Cell(f"{task.name}-1", spec(10, ONE, trajectories=1), every=EVERY),
            Cell(f"{task.name}-greedy", spec(5, GREEDY), task.load_greedy, every=EVERY),
            Cell(f"{task.name}-greedy-none", none, task.load_greedy, every=EVERY),
        ]
    return tuple(cells)


CELLS = _cells()
