"""Commands on experiments: run a sweep, print its table."""

from dataclasses import dataclass
from pathlib import Path

import jax
import tyro

from ilfo import machine
from ilfo.cli.console import console
from ilfo.experiments.analysis import as_markdown, as_table, sweep_rows
from ilfo.experiments.runner import find_sweep, result_files, run_cell
from ilfo.logging import Progress


@dataclass(frozen=True)
class BenchRun:
    """Run what is missing of a sweep; stopped at any moment, it goes on where it was."""

    sweep: tyro.conf.Positional[str]
    """The sweep; there are: core, theory."""
    cells: tyro.conf.Positional[tuple[str, ...]] = ()
    """Only these cells; all by default."""
    results: Path = Path("results")
    """Where result files are kept."""
    runs: Path = Path("runs/bench")
    """Where the runs are kept."""

    def run(self) -> None:
        here = machine.set_up()
        known = {cell.name: cell for cell in find_sweep(self.sweep)}
        for name in self.cells or known:
            if name not in known:
                raise ValueError(f"unknown cell {name!r}; there are: {', '.join(known)}")
            cell = known[name]
            if not all(path.exists() for path in result_files(self.results, self.sweep, cell)):
                console.print(f"cell {name}", highlight=False)
                run_cell(self.sweep, cell, self.results, self.runs, here, [Progress(console)])
                jax.clear_caches()  # no other cell runs the same compiled code


@dataclass(frozen=True)
class BenchTable:
    """Print the table of a sweep's results."""

    sweep: tyro.conf.Positional[str]
    """The sweep; there are: core, theory."""
    results: Path = Path("results")
    """Where result files are kept."""

    markdown: bool = False
    """Print it for a page of documentation instead of a terminal."""

    def run(self) -> None:
        rows = sweep_rows(self.sweep, find_sweep(self.sweep), self.results)
        if self.markdown:
            print(as_markdown(rows))
        else:
            console.print(as_table(rows))
