"""Tables as Markdown and on a terminal."""

import sys
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is the header."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def print_table(
    console: Console, rows: Sequence[Sequence[str]], title: str | None = None, *, wrap: bool = False
) -> None:
    """Print a table; the first row is the header. A wide table overflows the terminal instead of
    being truncated; with `wrap` its cells are broken between words before it does."""
    table = Table(title=title)
    for column in zip(*rows, strict=True):
        longest = max((cell_len(word) for cell in column for word in cell.split()), default=0)
        table.add_column(column[0], min_width=longest if wrap else None)
    for row in rows[1:]:
        table.add_row(*row)
    size = Measurement.get(console, console.options.update(max_width=sys.maxsize), table)
    needed = size.minimum if wrap else size.maximum
    before, console.width = console.width, max(console.width, needed)
    console.print(table)
    console.width = before
