"""`ilfo bench`: run sweeps of experiments, print their tables, plot them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import jax
import tyro

from ilfo.agents.progress import Progress
from ilfo.cli.console import console, say
from ilfo.cli.engines import EngineOptions, check_folder
from ilfo.common.text_tables import as_markdown, print_table
from ilfo.experiments.cell import Cell
from ilfo.experiments.conditions import SWEEP, draw_conditions
from ilfo.experiments.diagnostics import part_rows
from ilfo.experiments.effort import effort_rows
from ilfo.experiments.engines.base import Event, Job
from ilfo.experiments.engines.cores import cores, stay_on
from ilfo.experiments.exploration import exploration_rows
from ilfo.experiments.plots import draw_sweep
from ilfo.experiments.results import read_results
from ilfo.experiments.runner import (
    SWEEPS,
    find_cells,
    find_sweep,
    result_file,
    run_directory,
    run_seed,
    write_result,
)
from ilfo.experiments.scores import stale_note, sweep_rows
from ilfo.experiments.significance import against_bco, against_no_bonus, against_random
from ilfo.experiments.visits import draw_visits
from ilfo.reports.figures import save_figure
from ilfo.runs import machine
from ilfo.storage.atomic import require_new

Sweep = Annotated[str, tyro.conf.arg(metavar="|".join(SWEEPS))]


@dataclass(frozen=True)
class BenchRun(EngineOptions):
    """Run the cells of a sweep that have no results yet.

    It can be stopped at any time; the same command continues it.
    """

    sweep: tyro.conf.Positional[Sweep]
    """Name of the sweep."""
    cells: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of cells; all by default."""
    seed: int | None = None
    """Run only this seed, in this process on one core; by default all, each in its own process."""
    results: Path = Path("results")
    """Folder of the result files."""
    runs: Path = Path("runs/bench")
    """Folder of the run directories."""

    def run(self) -> None:
        cells = find_cells(self.sweep, self.cells)
        self.check_engine()
        check_folder(self.runs, "runs")
        if self.seed is None:
            wanted = [
                (self.sweep, cell, seed)
                for cell in cells
                for seed in cell.seeds
                if not result_file(self.results, self.sweep, cell, seed).exists()
            ]
            run_cells(self, wanted, self.results, self.runs)
            return
        if self.on != "local" or self.cpus_per_run != 1:
            raise ValueError("--seed runs in this process on one core; leave out --on and the like")
        available = cores()
        stay_on(available[self.seed % len(available)])
        here = machine.set_up(1)
        for cell in cells:
            if not result_file(self.results, self.sweep, cell, self.seed).exists():
                args = (self.sweep, cell, self.seed, self.results, self.runs, here)
                run_seed(*args, [Progress(console)])
                jax.clear_caches()  # no other cell runs the same compiled code


def run_cells(
    options: EngineOptions, wanted: Sequence[tuple[str, Cell, int]], results: Path, runs: Path
) -> None:
    """Run these seeds of cells of sweeps on an engine."""
    runs = runs.resolve()
    jobs, files = [], {}
    for sweep, cell, seed in wanted:
        name = f"{cell.name}-{seed}"
        arguments = {"sweep": sweep, "cell": cell.name, "seed": seed, "runs": str(runs)}
        folder = str(run_directory(runs, sweep, cell, seed))
        jobs.append(Job(name, "cell", arguments, folder, options.cpus_per_run))
        files[name] = result_file(results, sweep, cell, seed)

    def keep(event: Event) -> None:
        write_result(files[event.job.name], event.product)

    options.run_jobs(jobs, runs, keep)


@dataclass(frozen=True)
class BenchTable:
    """Print a table of a sweep's results."""

    sweep: tyro.conf.Positional[Sweep]
    """Name of the sweep."""
    results: Path = Path("results")
    """Folder of the result files."""
    against: Literal["random", "no-bonus", "bco"] | None = None
    """Print permutation tests instead: against a random policy, against training without bonus, or
    MobILE against BC-O. For the sweep exploration, no-bonus corrects over tasks."""
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
            "no-bonus": exploration_rows if self.sweep == "exploration" else against_no_bonus,
            "bco": against_bco,
        }
        return tabulate[self.against](*what)


@dataclass(frozen=True)
class BenchPlot:
    """Plot the learning curves and scores of a sweep.

    Four figures: learning curves over environment steps and over seconds, their running maxima, and
    a bar per cell. Of the sweep `conditions` one: scores by recordings and method.
    """

    sweep: tyro.conf.Positional[Sweep]
    """Name of the sweep."""
    out: Path
    """Folder for the figures; existing figures are not overwritten."""
    cells: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of cells; all by default."""
    results: Path = Path("results")
    """Folder of the result files."""
    visits: bool = False
    """Of the sweep exploration: plot where each λ has been in the lock and the maze instead."""

    def run(self) -> None:
        cells = find_cells(self.sweep, self.cells)
        if self.visits:
            self._plot_visits()
            return
        if self.sweep == SWEEP and not self.cells:
            say(str(draw_conditions(self.results, self.out / "conditions.png")))
            return
        for path in draw_sweep(self.sweep, cells, self.results, self.out):
            say(str(path))

    def _plot_visits(self) -> None:
        if self.sweep != "exploration" or self.cells:
            raise ValueError("--visits is for the whole sweep exploration")
        path = self.out / "exploration-visits.png"
        figure = draw_visits(self.sweep, find_sweep(self.sweep), self.results)
        self.out.mkdir(parents=True, exist_ok=True)
        require_new(path)
        save_figure(figure, path)
        say(str(path))


COMMANDS = {"run": BenchRun, "table": BenchTable, "plot": BenchPlot}
