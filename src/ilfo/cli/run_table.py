"""What runs where: a live table on a terminal, plain lines anywhere else."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from ilfo.common.printable import printable
from ilfo.common.tally import Tally, pace, time_left
from ilfo.experiments.engines.base import Event

if TYPE_CHECKING:
    from rich.live import Live

ROWS = 30
"""Runs that the table lists; the rest is counted."""


class RunTable:
    """Shows the events of a sweep; a context manager."""

    def __init__(self, total: int, console: Console):
        self.console = console
        self._tally = Tally("runs", total, console)
        self._running: dict[str, tuple[str, float]] = {}
        self._failed = 0
        self._live: "Live | None" = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            from rich.live import Live

            self._live = Live(
                get_renderable=self._picture, console=self.console, refresh_per_second=2
            )
            self._live.start()
        else:
            self._tally.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, event: Event) -> None:
        """Take in what has happened."""
        name = event.job.name
        self._running.pop(name, None)
        if event.state == "started":
            self._running[name] = event.where, time.monotonic()
            if self._live is None:
                self._say(f"{name} starts on {event.where}")
        elif event.state == "done":
            self._done(name)
        elif event.state == "lost":
            where = f" on {event.where}" if event.where else ""
            self._say(f"{name} was lost{where} and is run again: {event.said}")
        else:
            self._failed += 1
            self._say(f"{name} failed: {event.said}")

    def _done(self, name: str) -> None:
        if self._live is None:
            self._tally.done(name)
        else:
            self._tally.finished += 1

    def _say(self, text: str) -> None:
        self.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def _picture(self) -> Any:
        from rich.console import Group
        from rich.padding import Padding
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table("run", "where", "for")
        for name, (where, since) in list(self._running.items())[:ROWS]:
            table.add_row(Text(printable(name)), Text(printable(where)), _clock(since))
        more = len(self._running) - ROWS
        if more > 0:
            table.add_row(f"and {more} more", "", "")
        bar = ProgressBar(total=self._tally.total, completed=self._tally.finished + self._failed)
        # Without colours the bar ends where it is filled, and only padding fills its line.
        return Group(table, Padding(bar, 0), Text(self._progress()))

    def _progress(self) -> str:
        said = f"{self._tally.finished} of {self._tally.total} runs done"
        if self._failed:
            said += f", {self._failed} failed"
        over = self._tally.finished + self._failed
        elapsed = time.monotonic() - self._began
        left = time_left(over, self._tally.total, elapsed)
        return f"{said}, {_clock(self._began)}, {pace(over, elapsed)}, left {left}"


def _clock(since: float) -> str:
    return str(timedelta(seconds=round(time.monotonic() - since)))
