"""`ilfo reproduce`: the paper's figures and tables from `results/`."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.bench import run_cells
from ilfo.cli.console import console, say
from ilfo.cli.engines import EngineOptions, check_folder
from ilfo.common.text_tables import print_table
from ilfo.experiments.reproduction.catalogue import EXHIBITS, find_exhibit
from ilfo.experiments.reproduction.exhibit import (
    Exhibit,
    Measured,
    read_exhibit,
    unfinished,
    without_results,
)
from ilfo.experiments.reproduction.page import reproduction_page
from ilfo.experiments.reproduction.writing import require_none, write_exhibit
from ilfo.storage.atomic import atomic_write_text

PAGE = "reproduction.html"


@dataclass(frozen=True)
class Reproduce(EngineOptions):
    """Make the figures and tables of the MobILE paper, or list them.

    Without a name it lists them. With names it runs what has no result yet and writes each as PNG,
    SVG and CSV. It can be stopped at any time; the same command continues it.
    """

    figures: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of figures and tables."""
    only_existing: bool = False
    """Run nothing: draw what has results already."""
    check: bool = False
    """Name what has no result yet and exit with 1 if there is anything."""
    report: Path | None = None
    """Write all figures and tables that have results, and one HTML page with them, to this folder;
    runs nothing."""
    out: Path = Path("reproduction")
    """Folder for the figures; existing files are not overwritten."""
    seeds: int = 5
    """Seeds of each cell to run; figures show all that have results."""
    results: Path = Path("results")
    """Folder of the result files."""
    runs: Path = Path("runs/bench")
    """Folder of the run directories."""

    def run(self) -> None:
        self.check_engine()
        check_folder(self.runs, "runs")
        if self.seeds < 1:
            raise ValueError(f"seeds is {self.seeds}, but must be at least 1")
        chosen = [find_exhibit(name) for name in dict.fromkeys(self.figures)]
        if self.check and self.report is not None:
            raise ValueError("--check and --report do different things; choose one")
        if self.check:
            self._check(chosen or list(EXHIBITS.values()))
        elif self.report is not None:
            self._report(chosen or list(EXHIBITS.values()), self.report)
        elif chosen:
            self._make(chosen)
        else:
            self._list()

    def _list(self) -> None:
        rows = [("name", "what", "cells with results", f"runs to do for {self.seeds} seeds")]
        for exhibit in EXHIBITS.values():
            measured = read_exhibit(exhibit, self.results)
            cells = {each.series.cell.name for each in measured}
            done = {each.series.cell.name for each in measured if each.records}
            to_do = len(unfinished(exhibit, self.results, self.seeds))
            counted = f"{len(done)} of {len(cells)}" if cells else "needs none"
            rows.append((exhibit.name, exhibit.title, counted, str(to_do)))
        print_table(console, rows)
        say("to make one: ilfo reproduce NAME; all that there is in one page: --report FOLDER")

    def _check(self, exhibits: list[Exhibit]) -> None:
        incomplete = 0
        for exhibit in exhibits:
            measured = read_exhibit(exhibit, self.results)
            lacking = without_results(measured)
            if lacking:
                incomplete += 1
                say(f"{exhibit.name} ({exhibit.title}) has no results of {', '.join(lacking)}")
            if stale := _stale(measured):
                say(f"{exhibit.name} has only results with earlier settings of {', '.join(stale)}")
        if incomplete:
            say(f"{incomplete} of {len(exhibits)} asked for {_are(incomplete)} not complete")
            raise SystemExit(1)
        say(f"nothing is missing: {', '.join(exhibit.name for exhibit in exhibits)}")

    def _report(self, exhibits: list[Exhibit], folder: Path) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty; choose another folder")
        for exhibit in exhibits:
            measured = read_exhibit(exhibit, self.results)
            if any(each.records for each in measured) or not exhibit.panels:
                write_exhibit(exhibit, measured, self.results, folder)
                say(f"{exhibit.name}: {folder / exhibit.name}.png, .svg, .csv")
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write_text(folder / PAGE, reproduction_page(exhibits, self.results))
        say(f"report: {folder / PAGE}")

    def _make(self, exhibits: list[Exhibit]) -> None:
        require_none(exhibits, self.out)
        if not self.only_existing:
            runs = [run for each in exhibits for run in unfinished(each, self.results, self.seeds)]
            once = {(sweep, cell.name, seed): (sweep, cell, seed) for sweep, cell, seed in runs}
            run_cells(self, list(once.values()), self.results, self.runs)
        for exhibit in exhibits:
            measured = read_exhibit(exhibit, self.results)
            for path in write_exhibit(exhibit, measured, self.results, self.out):
                say(str(path))
            if lacking := without_results(measured):
                say(f"without results yet: {', '.join(lacking)}")
            say(exhibit.finding(measured))


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _stale(measured: list[Measured]) -> list[str]:
    stale = (each.series.cell.name for each in measured if each.stale and each.records)
    return list(dict.fromkeys(stale))


COMMANDS = {"reproduce": Reproduce}
