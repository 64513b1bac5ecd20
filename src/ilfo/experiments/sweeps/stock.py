"""Gymnasium's own MuJoCo tasks: MobILE and its references with one and with ten demonstrations.

The sweep has the environments whose recordings are bundled; a cell's name begins with the id.

- `ENV-10`, `ENV-1`: MobILE's default, ten demonstrations or one, of a stochastic expert.
- `ENV-10-none`, `ENV-1-none`: the same without inferred actions.
- `ENV-10-bco`, `ENV-1-bco`: BC-O.
- `ENV-greedy`, `ENV-greedy-none`, `ENV-greedy-bco`: ten demonstrations of an expert that acts
  greedily; on Hopper-v5 and HalfCheetah-v5.
- `ENV-bc`, `ENV-dacfo`: BC, which sees the actions, and DACfO; ten demonstrations, three seeds.
- `Hopper-v5-dacfo-long`: DACfO with more environment steps.
"""

import functools

from ilfo.environments.stock import load, recorded_environments
from ilfo.experiments.cell import Cell
from ilfo.experiments.sweeps.tasks import FIRST_SEED
from ilfo.runs.spec import RunSpec

SAMPLES = 100_000
"""Environment steps per seed."""
LONG = 500_000
"""Environment steps of DACfO on Hopper-v5, to see how many it needs; not tried yet."""
HORIZON = 1_000
SAMPLES_BETWEEN = 4_000
"""Environment steps between two points of a learning curve."""
VARIANTS: dict[str, dict] = {
    "": {"method": "mobile"},
    "-none": {"method": "mobile", "changes": ("inference=none",)},
    "-bco": {"method": "bco"},
}
GREEDY = ("Hopper-v5", "HalfCheetah-v5")


def cells_of(environment: str) -> list[Cell]:
    """All cells of one environment."""
    cell = functools.partial(_cell, environment)
    cells = [
        cell(f"{count}{suffix}", demonstrations=count, **fields)
        for count in (10, 1)
        for suffix, fields in VARIANTS.items()
    ]
    if environment in GREEDY:
        cells += [
            cell(f"greedy{suffix}", greedy=True, **fields) for suffix, fields in VARIANTS.items()
        ]
    cells.append(cell("bc", method="bc", seeds=3, samples=None, changes=("every=50",)))
    cells.append(cell("dacfo", method="dacfo", seeds=3))
    if environment == "Hopper-v5":
        cells.append(cell("dacfo-long", method="dacfo", seeds=3, samples=LONG))
    return cells


def _cell(
    environment: str,
    name: str,
    *,
    method: str,
    demonstrations: int = 10,
    greedy: bool = False,
    seeds: int = 5,
    samples: int | None = SAMPLES,
    changes: tuple[str, ...] = (),
) -> Cell:
    spec = RunSpec(
        method=method,
        task=None,
        env=environment,
        seeds=seeds,
        first_seed=FIRST_SEED,
        total_timesteps=samples,
        changes=changes,
    )
    sees_actions = method == "bc"
    record = functools.partial(
        load, environment, demonstrations, greedy=greedy, actions=sees_actions
    )
    return Cell(f"{environment}-{name}", spec, record, every=_every(spec))


def _every(spec: RunSpec) -> int:
    """Iterations between two points of the curve; BC says itself how long one is."""
    if spec.total_timesteps is None:
        return 1
    return max(1, SAMPLES_BETWEEN // (spec.settings().streams * HORIZON))


CELLS = tuple(cell for environment in recorded_environments() for cell in cells_of(environment))
