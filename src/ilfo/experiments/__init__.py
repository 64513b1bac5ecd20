"""Experiments: run sweeps of training runs, and make tables and figures from their results.

A sweep is a tuple of `Cell`s, each a training run that is repeated over seeds; the sweeps of the
package are in `ilfo.experiments.sweeps`. `run_seed` trains one seed of a cell and writes a small
result file to `results/`. The other functions read these files: tables of scores, of the effort to
reach a score and of diagnostics, permutation tests, and plots. Names are imported on first use, so
that `import ilfo.experiments` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilfo.experiments.cell import Cell
    from ilfo.experiments.diagnostics import part_rows
    from ilfo.experiments.effort import effort_rows
    from ilfo.experiments.plots import draw_sweep
    from ilfo.experiments.results import read_results
    from ilfo.experiments.runner import SWEEPS, find_cells, find_sweep, run_seed
    from ilfo.experiments.scores import sweep_rows
    from ilfo.experiments.significance import against_no_bonus, against_random

__all__ = [
    "SWEEPS",
    "Cell",
    "against_no_bonus",
    "against_random",
    "draw_sweep",
    "effort_rows",
    "find_cells",
    "find_sweep",
    "part_rows",
    "read_results",
    "run_seed",
    "sweep_rows",
]

_MODULES = {
    "SWEEPS": "ilfo.experiments.runner",
    "Cell": "ilfo.experiments.cell",
    "against_no_bonus": "ilfo.experiments.significance",
    "against_random": "ilfo.experiments.significance",
    "draw_sweep": "ilfo.experiments.plots",
    "effort_rows": "ilfo.experiments.effort",
    "find_cells": "ilfo.experiments.runner",
    "find_sweep": "ilfo.experiments.runner",
    "part_rows": "ilfo.experiments.diagnostics",
    "read_results": "ilfo.experiments.results",
    "run_seed": "ilfo.experiments.runner",
    "sweep_rows": "ilfo.experiments.scores",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
