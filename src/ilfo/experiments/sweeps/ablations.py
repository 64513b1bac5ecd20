"""The default preset of MobILE without one of its pieces, on three tasks, five seeds each.

`TASK-no-PIECE` is the default without that piece. `TASK`, `TASK-none` (nothing inferred at all) and
`TASK-no-bonus` are cells of the sweep `tasks`. What matters for sparse recordings alone is left out
of cells of the sweep `conditions`: `TASK-every4-no-held`.
"""

from dataclasses import replace

from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.conditions import CELLS as CONDITIONS
from ilfo.experiments.sweeps.tasks import CELLS as TASKS
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.runs.spec import RunSpec

WITHOUT = {
    "start": ("inference.start=false",),
    "pull": ("inference.pull=0",),
    "judge": ("inference.judged=false",),
    "progress": ("inference.progress=false",),
    "witness": ("inference.witness=false",),
    "bandwidth": ("discriminator.bandwidth_quantile=0.1", "discriminator.scales=1"),
    "horizon": ("planner.critic.discount=0.995",),
    "floor": ("floor=false",),
    "fall-back": ("fall_back=false",),
    "paired": ("paired=false",),
    "state-noise": ("policy.state_noise=false",),
    "noise-prior": ("inference.noise_prior=0",),
    "quieter": ("inference.quieter=1",),
    "averaging": ("dynamics.plan.passes=4", "dynamics.plan.averaged=false"),
}
"""Piece: the settings without it."""
ON = ("reacher", "hopper", "walker2d")
SPARSER = 3
"""The learning curves of ablated cells have so many times fewer points than those of the whole."""


SPARSE = ("reacher-every4", "hopper-every4")
"""Cells of the sweep `conditions`."""


def _cells() -> tuple[Cell, ...]:
    whole = {cell.name: replace(cell, home="tasks") for cell in TASKS}
    cells = []
    for task in ON:
        cells += [whole[task + suffix] for suffix in ("", "-none", "-no-bonus")]
        for piece, changes in WITHOUT.items():
            if piece in ("state-noise", "noise-prior", "quieter") and task == "reacher":
                continue  # its actions are discrete
            spec = RunSpec(task=task, seeds=5, first_seed=FIRST_SEED, changes=changes)
            cells.append(Cell(f"{task}-no-{piece}", spec, every=SPARSER * whole[task].every))
    for sparse in (cell for cell in CONDITIONS if cell.name in SPARSE):
        spec = replace(sparse.spec, changes=("inference.held=false",))
        cells.append(replace(sparse, home="conditions"))
        cells.append(replace(sparse, name=f"{sparse.name}-no-held", spec=spec))
    return tuple(cells)


CELLS = _cells()
