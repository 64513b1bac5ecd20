"""A figure or table of the paper: the cells whose results it shows, and how."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ilfo.experiments.cell import Cell
from ilfo.experiments.results import best_by_reward, read_results
from ilfo.experiments.runner import result_file
from ilfo.experiments.stale import STALE, changed, other_demonstrations

EARLIER = "tuned"
"""Folder in `results/` of results with earlier settings."""


@dataclass(frozen=True)
class Series:
    """A line or a bar: a cell of a sweep, and its name in the legend."""

    label: str
    sweep: str
    cell: Cell
    earlier: bool = False
    """Whether results with earlier settings may stand in for it."""
    if_there: bool = False
    """Whether it is shown only if there are results: it is never run for the figure."""


@dataclass(frozen=True)
class Panel:
    """A part of a figure: usually a task."""

    title: str
    series: tuple[Series, ...]


class Measured(NamedTuple):
    """A series and its results; none if it has not been run."""

    panel: str
    series: Series
    records: list[dict[str, Any]]
    stale: bool
    """Whether they were measured with other settings than the cell has now."""

    @property
    def label(self) -> str:
        return self.series.label

    @property
    def marked(self) -> str:
        """The label, with a mark if the results are stale."""
        return self.label + (STALE if self.stale else "")

    @property
    def best(self) -> list[float]:
        """Of each seed the best score by true return."""
        return [value for value in map(best_by_reward, self.records) if value is not None]


Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of the paper."""

    name: str
    """As the command takes it."""
    title: str
    panels: tuple[Panel, ...]
    rows: Callable[[Sequence[Measured]], Rows]
    """A header and the numbers that are shown."""
    draw: Callable[[Sequence[Measured]], Any]
    """A matplotlib figure."""
    finding: Callable[[Sequence[Measured]], str]
    """What agrees with the paper and what does not, from the numbers."""

    @property
    def series(self) -> list[Series]:
        return [series for panel in self.panels for series in panel.series]


def read_exhibit(exhibit: Exhibit, results: Path) -> list[Measured]:
    """Every series of the exhibit with its results."""
    return [
        _measured(panel.title, series, results)
        for panel in exhibit.panels
        for series in panel.series
    ]


def by_panel(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """The series of each panel."""
    groups: dict[str, list[Measured]] = {}
    for each in measured:
        groups.setdefault(each.panel, []).append(each)
    return groups


def without_results(measured: Sequence[Measured]) -> list[str]:
    """Names of the cells that are to have results and have none at all, each once."""
    lacking = (each.series for each in measured if not each.records)
    return list(dict.fromkeys(series.cell.name for series in lacking if not series.if_there))


def unfinished(exhibit: Exhibit, results: Path, seeds: int) -> list[tuple[str, Cell, int]]:
    """Sweep, cell and seed of the runs that the exhibit lacks, with `seeds` seeds of each cell."""
    runs = {
        (series.cell.kept_in(series.sweep), series.cell.name, seed): (series.cell, seed)
        for series in exhibit.series
        if not series.if_there
        for seed in series.cell.seeds[:seeds]
        if not result_file(results, series.sweep, series.cell, seed).exists()
    }
    return [(sweep, cell, seed) for (sweep, _, _), (cell, seed) in runs.items()]


def _measured(panel: str, series: Series, results: Path) -> Measured:
    records = _fitting(series.cell, read_results(results, series.sweep, series.cell))
    if records:
        return Measured(panel, series, records, bool(changed(series.cell, records)))
    if not series.earlier:
        return Measured(panel, series, [], False)
    return Measured(panel, series, _earlier(series, results), True)


def _earlier(series: Series, results: Path) -> list[dict[str, Any]]:
    folder = results / EARLIER / series.cell.kept_in(series.sweep)
    files = sorted(folder.glob(f"{series.cell.name}-[0-9]*.json"))
    records = [json.loads(path.read_text()) for path in files]
    named = [record for record in records if record["cell"] == series.cell.name]
    return _fitting(series.cell, named)


def _fitting(cell: Cell, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with the cell's number of demonstrations, which the figures say or compare."""
    return [record for record in records if not other_demonstrations(cell, record)]
