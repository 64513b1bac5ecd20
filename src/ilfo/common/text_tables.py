"""Tables as Markdown and on a terminal."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is the header."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def print_table(console: Console, rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first row is the header. A wide table overflows the terminal instead of
    being truncated."""
    table = Table(*rows[0])
    for row in rows[1:]:
        table.add_row(*row)
    needed = Measurement.get(console, console.options.update(max_width=sys.maxsize), table).maximum
    before, console.width = console.width, max(console.width, needed)
    console.print(table)
    console.width = before
