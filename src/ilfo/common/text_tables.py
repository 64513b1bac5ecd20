"""Tables as Markdown and on a terminal."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is the header."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def print_table(
    console: Console, rows: Sequence[Sequence[str]], title: str | None = None, *, wrap: bool = False
) -> None:
    """Print a table; the first row is the header. A wide table overflows the terminal instead of
    being truncated; with `wrap` its cells are broken between words, and then its borders left out,
    before it does."""
    table = Table(title=title)
    sizes = [(_longest(column, wrap=wrap), _longest(column)) for column in zip(*rows, strict=True)]
    around = 3 * len(sizes) + 1  # borders, and a space on each side of a cell
    words = sum(least for least, _ in sizes)
    needed = words + around
    if wrap and needed > console.width:
        table = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
        needed = words + len(sizes) - 1
    left = max(console.width - needed, 0)
    for name, (least, most) in zip(rows[0], sizes, strict=True):
        more = min(most - least, left)
        left -= more
        table.add_column(name, width=least + more)
    for row in rows[1:]:
        table.add_row(*row)
    before, console.width = console.width, max(console.width, needed)
    console.print(table)
    console.width = before


def _longest(column: Sequence[str], *, wrap: bool = False) -> int:
    """The width of its longest cell, or of its longest word."""
    parts = [part for cell in column for part in (cell.split() if wrap else cell.splitlines())]
    return max(map(cell_len, parts), default=0)
