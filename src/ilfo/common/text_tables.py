"""Tables of text, for a terminal and for a page."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """For a page of documentation."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def print_table(console: Console, rows: Sequence[Sequence[str]]) -> None:
    """For a terminal; wider than it rather than with numbers cut short."""
    table = Table(*rows[0])
    for row in rows[1:]:
        table.add_row(*row)
    needed = Measurement.get(console, console.options.update(max_width=sys.maxsize), table).maximum
    before, console.width = console.width, max(console.width, needed)
    console.print(table)
    console.width = before
