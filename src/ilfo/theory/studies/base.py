"""A study measures a statement of the theory and writes tables and a picture.

Its directory contains a CSV file per table, `tables.md` with all of them, `picture.png`, and
`study.json` with the settings and the commit.
"""

import abc
import csv
import dataclasses
import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ilfo.common.figures import make_figure
from ilfo.common.text_tables import as_markdown, print_table
from ilfo.runs import machine
from ilfo.storage import provenance
from ilfo.storage.atomic import atomic_write_text
from ilfo.storage.provenance import versions

StudyRow = Mapping[str, Any]
Tables = dict[str, Sequence[StudyRow]]


@dataclass(frozen=True)
class Study(abc.ABC):
    """Base class of the studies; fields are the command's options."""

    # without an annotation: the command's name, as in `ilfo theory NAME`, is not an option
    name = ""
    seed: int = 0
    """Random seed."""
    out: Path | None = None
    """Directory for tables and picture, new or empty; theory/NAME by default."""

    @abc.abstractmethod
    def measure(self) -> Tables:
        """The study's tables by name; all rows of a table have the same columns."""

    @abc.abstractmethod
    def draw(self, figure: Any, tables: Tables) -> None:
        """Draw the tables into an empty matplotlib figure."""

    def run(self) -> None:
        """Measure, and write the directory `out`."""
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed is {self.seed}, but must be at least 0 and below 2**32")
        out = self.out or Path("theory") / self.name
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise FileExistsError(
                f"{out} is in use: it exists and is not an empty directory; choose another "
                "directory with --out"
            )
        figure = make_figure(11, 4.2)
        here, commit = machine.set_up(1), provenance.commit()
        began = time.perf_counter()
        tables = self.measure()
        seconds = time.perf_counter() - began
        self.draw(figure, tables)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "picture.png", dpi=120)
        for name, rows in tables.items():
            atomic_write_text(out / f"{name}.csv", _csv(rows))
        shown = {name: _shown(rows) for name, rows in tables.items()}
        text = "\n\n".join(f"## {name}\n\n{as_markdown(rows)}" for name, rows in shown.items())
        atomic_write_text(out / "tables.md", text + "\n")
        facts = {
            "study": self.name,
            "settings": {key: value for key, value in self._settings().items() if key != "out"},
            "seconds": round(seconds, 1),
            "commit": commit,
            "versions": versions(),
        }
        atomic_write_text(out / "study.json", json.dumps(facts | here, indent=1) + "\n")
        console = Console()
        for table in shown.values():
            print_table(console, table)
        console.print(f"{seconds:.0f} s  tables and picture: {out}", highlight=False, markup=False)

    def _settings(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _csv(rows: Sequence[StudyRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _shown(rows: Sequence[StudyRow]) -> list[tuple[str, ...]]:
    """Rows as text, numbers with four digits."""
    text = lambda x: f"{x:.4g}" if isinstance(x, float) else str(x)
    return [tuple(rows[0]), *(tuple(text(value) for value in row.values()) for row in rows)]
