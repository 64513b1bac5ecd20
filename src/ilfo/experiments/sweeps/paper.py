"""What the paper's figures and tables need beside the sweeps `tasks` and `methods`.

- `TASK-N`: the default preset with N demonstrations (table 1), where `tasks` has another number.
- `swimmer-40-METHOD`: the baselines on Swimmer with 40 demonstrations (figures 2, 5 and 6).
- `cartpole-models-N`: the default with N models in the ensemble (figure 7). The paper's text does
  not say which numbers its figure compares; one model cannot disagree, so it has no bonus.
- `TASK-paper-*`: the same, and λ = 0 (figure 3), with the preset `paper`, where it is cheap.

Five seeds each.
"""

from dataclasses import replace

from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.methods import CELLS as METHODS
from ilfo.experiments.sweeps.tasks import CELLS as TASKS
from ilfo.experiments.sweeps.tasks import CHEAP

SEEDS = 5
DEMONSTRATIONS = {"cartpole": 5, "reacher": 20, "swimmer": 40, "hopper": 40, "walker2d": 50}
"""The number of table 1 that `tasks` does not have."""
MODELS = (1, 4, 8)
"""Sizes of the ensemble beside the default's two."""
BASELINES = ("bc", "bco", "gail", "gaifo")


def _cells() -> tuple[Cell, ...]:
    known = {cell.name: cell for cell in (*METHODS, *TASKS)}
    cells = []
    for task, count in DEMONSTRATIONS.items():
        cells.append(_variant(known[task], f"{task}-{count}", trajectories=count))
        if task in CHEAP:
            theirs = known[f"{task}-paper"]
            cells.append(_variant(theirs, f"{task}-paper-{count}", trajectories=count))
    for method in BASELINES:
        cells.append(_variant(known[f"swimmer-{method}"], f"swimmer-40-{method}", trajectories=40))
    for whole in ("cartpole", "cartpole-paper"):
        for count in MODELS:
            change = f"dynamics.members={count}"
            cells.append(_variant(known[whole], f"{whole}-models-{count}", change))
    for task in CHEAP:
        cells.append(_variant(known[f"{task}-paper"], f"{task}-paper-no-bonus", "weight=0"))
    return tuple(cells)


def _variant(whole: Cell, name: str, *changes: str, trajectories: int | None = None) -> Cell:
    """The same cell with changed settings, or another number of demonstrations."""
    spec = replace(
        whole.spec,
        seeds=SEEDS,
        changes=(*whole.spec.changes, *changes),
        trajectories=trajectories or whole.spec.trajectories,
    )
    return replace(whole, name=name, spec=spec, home=None)


CELLS = _cells()
