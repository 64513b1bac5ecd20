"""Calibrated models in MobILE on CartPole; the ensemble's row is in the sweep `ablations`.

Everything but the dynamics is the preset's.
"""

from ilfo.agents.registry import DYNAMICS
from ilfo.experiments.cell import Cell
from ilfo.runs.launch import RunSpec

CELLS = tuple(
    Cell(
        f"cartpole-{name}",
        RunSpec(task="cartpole", seeds=3, changes=(f"dynamics={DYNAMICS[name].__name__}",)),
    )
    for name in ("knr", "gp")
)
