"""Fewer recordings, and those of an expert without noise: Hopper and Walker2d.

- `TASK-1`: one demonstration.
- `TASK-greedy`: ten demonstrations of an expert that acts greedily, so that they do not show how to
  recover from small errors.
- `TASK-greedy-none`: the same without inferred actions.
"""

from ilfo.environments.tasks import find_task
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.runs.spec import RunSpec

ON = ("hopper", "walker2d")
SEEDS, SAMPLES = 5, 40_000
"""Seeds, and environment steps of each."""
EVERY = 4
"""Iterations between two points of a learning curve: 3,200 environment steps."""


def _cells() -> tuple[Cell, ...]:
    cells = []
    for task in map(find_task, ON):
        spec = lambda task=task.name, **fields: RunSpec(
            task=task, seeds=SEEDS, first_seed=FIRST_SEED, total_timesteps=SAMPLES, **fields
        )
        none = spec(changes=("inference=none",))
        cells += [
            Cell(f"{task.name}-1", spec(trajectories=1), every=EVERY),
            Cell(f"{task.name}-greedy", spec(), task.load_greedy, every=EVERY),
            Cell(f"{task.name}-greedy-none", none, task.load_greedy, every=EVERY),
        ]
    return tuple(cells)


CELLS = _cells()
