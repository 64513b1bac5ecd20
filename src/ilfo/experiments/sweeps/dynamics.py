"""MobILE with calibrated dynamics models on CartPole.

All other settings are those of the default preset without inferred actions. The row for the
ensemble is in the sweep `endings`.
"""

from ilfo.agents.registry import DYNAMICS
from ilfo.experiments.cell import Cell
from ilfo.runs.spec import RunSpec

CELLS = tuple(
    Cell(
        f"cartpole-{name}",
        RunSpec(
            task="cartpole",
            seeds=3,
            first_seed=10,
            total_timesteps=20_000,
            changes=("inference=none", f"dynamics={DYNAMICS[name].__name__}"),
        ),
    )
    for name in ("knr", "gp")
)
