"""MobILE with calibrated dynamics models on CartPole.

All other settings are those of the default preset. The row for the ensemble is in the sweep
`ablations`.
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
