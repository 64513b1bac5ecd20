"""Writing a figure or table as PNG, SVG and CSV."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ilfo.experiments.reproduction.exhibit import Exhibit, Measured
from ilfo.experiments.reproduction.origin import origin_line
from ilfo.experiments.reproduction.style import add_origin
from ilfo.reports.figures import as_svg, save_figure
from ilfo.storage.atomic import atomic_write_text

KINDS = (".png", ".svg", ".csv")


def files_of(exhibit: Exhibit, out: Path) -> list[Path]:
    """The files that belong to a figure or table."""
    return [out / f"{exhibit.name}{kind}" for kind in KINDS]


def require_none(exhibits: Sequence[Exhibit], out: Path) -> None:
    """Raise FileExistsError if a file would be overwritten; call it before long work."""
    for path in (path for exhibit in exhibits for path in files_of(exhibit, out)):
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another folder")


def write_exhibit(
    exhibit: Exhibit, measured: Sequence[Measured], results: Path, out: Path
) -> list[Path]:
    """Write the three files to the folder `out` and return their paths; overwrites nothing."""
    require_none([exhibit], out)
    if exhibit.panels and not any(each.records for each in measured):
        raise ValueError(f"{results} holds no results of {exhibit.name} yet")
    line = origin_line(measured, results)
    png, svg, table = files_of(exhibit, out)
    out.mkdir(parents=True, exist_ok=True)
    figure = drawn(exhibit, measured, line)
    atomic_write_text(svg, as_svg(lambda: figure))
    save_figure(figure, png)
    atomic_write_text(table, _as_csv(exhibit, measured, line))
    return [png, svg, table]


def drawn(exhibit: Exhibit, measured: Sequence[Measured], line: str) -> Any:
    """The matplotlib figure with the line about its origin."""
    figure = exhibit.draw(measured)
    add_origin(figure, line)
    return figure


def _as_csv(exhibit: Exhibit, measured: Sequence[Measured], line: str) -> str:
    """The line about the origin as a comment, then header and rows."""
    file = io.StringIO()
    file.write(f"# {line}\n")
    csv.writer(file, lineterminator="\n").writerows(exhibit.rows(measured))
    return file.getvalue()
