"""Progress of work that consists of parts: a bar on a terminal, plain lines anywhere else."""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress

Part = TypeVar("Part")
COMPILING = "compiling first"
"""What the first part of compiled work begins with."""
SILENT = 30.0
"""Seconds after which a line is printed where there is no bar, though nothing is to be said."""
UNITS = {"s": 1, "min": 60, "h": 3600}


def pace(count: float, seconds: float) -> str:
    """How many in a second, or in a minute or an hour if they are few; "-" if it is unknown."""
    if not (count > 0 and seconds > 0):
        return "-"
    paces = {unit: count / seconds * length for unit, length in UNITS.items()}
    unit = next((unit for unit, number in paces.items() if number >= 1), "h")
    number = paces[unit]
    return f"{number:.0f}/{unit}" if number >= 100 else f"{number:.2g}/{unit}"


def time_left(finished: float, total: float, seconds: float) -> str:
    """At the pace so far; "-" if it is unknown."""
    if finished <= 0:
        return "-"
    return str(timedelta(seconds=round(seconds / finished * max(total - finished, 0))))


class Tally:
    """Counts finished parts; a context manager. What is printed to its console meanwhile stands
    above the bar."""

    def __init__(
        self,
        what: str,
        total: int,
        console: Console | None = None,
        *,
        at_most: bool = False,
        first: str = "",
    ):
        """`what` names the parts, in the plural; `at_most` says that fewer may do; `first` is what
        comes before the first part is finished, such as "compiling"."""
        self.what, self.total, self.finished = what, total, 0
        self.first = first
        self.left = "left at most" if at_most else "left"
        self.console = Console() if console is None else console
        self._bar: "Progress | None" = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._began = self._said = time.monotonic()
        if self.total and self.console.is_terminal and not self.console.is_dumb_terminal:
            self._bar = _bar(self.console, self.left)
            begun = f"{self.what}, {self.first}" if self.first else self.what
            self._task = self._bar.add_task(begun, total=self.total, pace="-", ends=None)
            self._bar.start()
        elif self.total:
            self._print(f"0 of {self.total} {self.what}  {self.first}".rstrip() + " ...")
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def advance(self, parts: int) -> None:
        """More parts are finished, of which nothing is to be said."""
        if self._bar is None and time.monotonic() - self._said < SILENT:
            self.finished += parts
        else:
            self.done(parts=parts)

    def done(self, name: object = "", parts: int = 1) -> None:
        """More parts are finished, one by default; what is said of them stands above the bar."""
        self.finished += parts
        said = f"{name}  " if name else ""
        elapsed = time.monotonic() - self._began
        speed = pace(self.finished, elapsed)
        if self._bar is not None:
            if said:
                self._print(said.rstrip())
            ends = elapsed * max(self.total / self.finished, 1) if self.finished else None
            self._bar.update(
                self._task, advance=parts, description=self.what, pace=speed, ends=ends
            )
            return
        left = time_left(self.finished, self.total, elapsed)
        self._print(
            f"{said}{self.finished} of {self.total} {self.what}  {speed}  {self.left} {left}"
        )

    def _print(self, text: str) -> None:
        self._said = time.monotonic()
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def tallied(
    what: str, parts: Iterable[Part], console: Console | None = None, first: str = ""
) -> Iterator[Part]:
    """The parts, counted while they are worked on; `first` is what comes before any is finished."""
    several: Sequence[Part] = list(parts)
    with Tally(what, len(several), console, first=first) as tally:
        for part in several:
            yield part
            tally.done()


def _bar(console: Console, left: str) -> "Progress":
    from rich.progress import (  # takes a while to import
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class Left(ProgressColumn):
        """Rich's own needs two finished parts; the first one says as much."""

        def render(self, task: Any) -> Text:
            ends = task.fields["ends"]
            if ends is None:
                return Text("-:--:--", style="progress.remaining")
            seconds = round(max(ends - (task.elapsed or 0), 0))
            return Text(str(timedelta(seconds=seconds)), style="progress.remaining")

    whole = lambda: Column(no_wrap=True)  # in a narrow terminal the bar gives way, not the numbers
    return Progress(
        MofNCompleteColumn(table_column=whole()),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[pace]}"),
        TimeElapsedColumn(table_column=whole()),
        TextColumn(left),
        Left(table_column=whole()),
        console=console,
        expand=True,
    )
