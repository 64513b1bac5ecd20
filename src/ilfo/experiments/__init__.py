"""Experiments: run sweeps of training runs, and make tables and figures from their results.

A sweep is a tuple of `Cell`s, each a training run that is repeated over seeds; the sweeps of the
package are in `ilfo.experiments.sweeps`. `run_seed` trains one seed of a cell and writes a small
result file to `results/`. The other functions read these files: tables of scores, of the effort to
reach a score and of diagnostics, permutation tests, and plots. Names are imported on first use, so
that `import ilfo.experiments` is cheap.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

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

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "SWEEPS": "runner",
        "Cell": "cell",
        "against_no_bonus": "significance",
        "against_random": "significance",
        "draw_sweep": "plots",
        "effort_rows": "effort",
        "find_cells": "runner",
        "find_sweep": "runner",
        "part_rows": "diagnostics",
        "read_results": "results",
        "run_seed": "runner",
        "sweep_rows": "scores",
    },
)
