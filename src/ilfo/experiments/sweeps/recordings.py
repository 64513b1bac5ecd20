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
ONE, GREEDY = 10, 5
"""Seeds with one demonstration, and with those of a greedy expert."""
SAMPLES = 40_000
"""Environment steps of each."""
EVERY = 4
"""Iterations between two points of a learning curve: 3,200 environment steps."""


def _cells() -> tuple[Cell, ...]:
    cells = []
    for task in map(find_task, ON):
        spec = lambda seeds, task=task.name, **fields: RunSpec(
            task=task, seeds=seeds, first_seed=FIRST_SEED, total_timesteps=SAMPLES, **fields
        )
        none = spec(GREEDY, changes=("inference=none",))
        cells += [
            Cell(f"{task.name}-1", spec(ONE, trajectories=1), every=EVERY),
            Cell(f"{task.name}-greedy", spec(GREEDY), task.load_greedy, every=EVERY),
            Cell(f"{task.name}-greedy-none", none, task.load_greedy, every=EVERY),
        ]
    return tuple(cells)


CELLS = _cells()
