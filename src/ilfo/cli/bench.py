"""`ilfo bench`: run sweeps of experiments, print their tables, plot them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import jax
import tyro

from ilfo.agents.progress import Progress
from ilfo.cli.console import console, say
from ilfo.common.tally import Tally
from ilfo.common.text_tables import as_markdown, print_table
from ilfo.experiments.cell import Cell
from ilfo.experiments.diagnostics import part_rows
from ilfo.experiments.effort import effort_rows
from ilfo.experiments.plots import draw_sweep
from ilfo.experiments.results import read_results
from ilfo.experiments.runner import SWEEPS, find_cells, find_sweep, result_file, run_seed
from ilfo.experiments.scores import stale_note, sweep_rows
from ilfo.experiments.significance import against_bco, against_no_bonus, against_random
from ilfo.experiments.workers import Job, cores, stay_on, work_through
from ilfo.runs import machine

Sweep = Annotated[str, tyro.conf.arg(metavar="|".join(SWEEPS))]


@dataclass(frozen=True)
class BenchRun:
    """Run the cells of a sweep that have no results yet.

    It can be stopped at any time; the same command continues it.
    """

    sweep: tyro.conf.Positional[Sweep]
    """Name of the sweep."""
    cells: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of cells; all by default."""
    seed: int | None = None
    """Run only this seed, in this process on one core; by default all, each in its own process."""
    jobs: int | None = None
    """Number of parallel processes; one per core by default."""
    results: Path = Path("results")
    """Folder of the result files."""
    runs: Path = Path("runs/bench")
    """Folder of the run directories."""

    def run(self) -> None:
        cells = find_cells(self.sweep, self.cells)
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"jobs is {self.jobs}, but must be at least 1")
        if self.seed is None:
            self._dispatch(cells)
            return
        available = cores()
        stay_on(available[self.seed % len(available)])
        here = machine.set_up(1)
        for cell in cells:
            if not result_file(self.results, self.sweep, cell, self.seed).exists():
                args = (self.sweep, cell, self.seed, self.results, self.runs, here)
                run_seed(*args, [Progress(console)])
                jax.clear_caches()  # no other cell runs the same compiled code

    def _dispatch(self, cells: list[Cell]) -> None:
        jobs = [
            self._job(cell, seed)
            for cell in cells
            for seed in cell.seeds
            if not result_file(self.results, self.sweep, cell, seed).exists()
        ]
        with Tally("runs", len(jobs), console) as tally:
            failed = work_through(jobs, self.jobs or len(cores()), say, tally.done)
        if failed:
            raise ValueError(f"{len(failed)} of {len(jobs)} runs failed: {', '.join(failed)}")

    def _job(self, cell: Cell, seed: int) -> Job:
        where = ("--results", str(self.results), "--runs", str(self.runs))
        name = f"{cell.name}-{seed}"
        arguments = ("bench", "run", self.sweep, cell.name, "--seed", str(seed), *where)
        return Job(name, arguments, self.runs / cell.kept_in(self.sweep) / f"{name}.log")


@dataclass(frozen=True)
class BenchTable:
    """Print a table of a sweep's results."""

    sweep: tyro.conf.Positional[Sweep]
    """Name of the sweep."""
    results: Path = Path("results")
    """Folder of the result files."""
    against: Literal["random", "no-bonus", "bco"] | None = None
    """Print permutation tests instead: against a random policy, against training without bonus, or
    MobILE against BC-O."""
    effort: float | None = None
    """Print the samples and seconds needed to reach this score instead."""
    parts: bool = False
    """Print diagnostics of model, discriminator and planner at the end of the runs instead."""
    markdown: bool = False
    """Print Markdown."""

    def run(self) -> None:
        if (self.against is not None) + (self.effort is not None) + self.parts > 1:
            raise ValueError("--against, --effort and --parts print different tables; choose one")
        cells = find_sweep(self.sweep)
        if not any(read_results(self.results, self.sweep, cell) for cell in cells):
            raise ValueError(
                f"no results of {self.sweep} in {self.results}; run the command in a clone of the "
                "repository, or name another folder with --results"
            )
        rows = self._rows()
        note = stale_note(self.sweep, find_sweep(self.sweep), self.results)
        if self.markdown:
            print(as_markdown(rows) + (f"\n\n{note}" if note else ""))
        else:
            print_table(console, rows)
            if note:
                say(note)
            say(
                f"to reproduce a row from scratch: ilfo bench run {self.sweep} CELL "
                "--results again --runs again/runs"
            )

    def _rows(self) -> list[tuple[str, ...]]:
        what = (self.sweep, find_sweep(self.sweep), self.results)
        if self.parts:
            return part_rows(*what)
        if self.effort is not None:
            return effort_rows(*what, self.effort)
        tabulate = {
            None: sweep_rows,
            "random": against_random,
            "no-bonus": against_no_bonus,
            "bco": against_bco,
        }
        return tabulate[self.against](*what)


@dataclass(frozen=True)
class BenchPlot:
    """Plot the learning curves and scores of a sweep.

    Three figures: learning curves, their running maxima, and a bar per cell.
    """

    sweep: tyro.conf.Positional[Sweep]
    """Name of the sweep."""
    out: Path
    """Folder for the figures; existing figures are not overwritten."""
    cells: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of cells; all by default."""
    results: Path = Path("results")
    """Folder of the result files."""

    def run(self) -> None:
        cells = find_cells(self.sweep, self.cells)
        for path in draw_sweep(self.sweep, cells, self.results, self.out):
            say(str(path))


COMMANDS = {"run": BenchRun, "table": BenchTable, "plot": BenchPlot}
