"""Progress of work that consists of parts: a bar on a terminal, plain lines anywhere else."""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress

Part = TypeVar("Part")


class Tally:
    """Counts finished parts; a context manager. What is printed to its console meanwhile stands
    above the bar."""

    def __init__(
        self, what: str, total: int, console: Console | None = None, *, at_most: bool = False
    ):
        """`what` names the parts, in the plural; `at_most` says that fewer may do."""
        self.what, self.total, self.finished = what, total, 0
        self.left = "left at most" if at_most else "left"
        self.console = Console() if console is None else console
        self._bar: "Progress | None" = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        if self.total and self.console.is_terminal and not self.console.is_dumb_terminal:
            self._bar = _bar(self.console, self.left)
            self._task = self._bar.add_task(self.what, total=self.total)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def done(self, name: object = "", parts: int = 1) -> None:
        """More parts are finished, one by default; what is said of them stands above the bar."""
        self.finished += parts
        said = f"{name}  " if name else ""
        if self._bar is not None:
            if said:
                self._print(said.rstrip())
            self._bar.advance(self._task, parts)
            return
        elapsed = time.monotonic() - self._began
        seconds = elapsed / self.finished * max(self.total - self.finished, 0)
        left = timedelta(seconds=round(seconds))
        self._print(f"{said}{self.finished} of {self.total} {self.what}  {self.left} {left}")

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def tallied(what: str, parts: Iterable[Part], console: Console | None = None) -> Iterator[Part]:
    """The parts, counted while they are worked on."""
    several: Sequence[Part] = list(parts)
    with Tally(what, len(several), console) as tally:
        for part in several:
            yield part
            tally.done()


def _bar(console: Console, left: str) -> "Progress":
    from rich.progress import (  # takes a while to import
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn(left),
        TimeRemainingColumn(),
        console=console,
    )
