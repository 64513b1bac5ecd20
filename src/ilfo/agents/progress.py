"""The progress display: a live bar on a terminal, plain lines anywhere else."""

import math
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from rich.console import Console, Group
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from ilfo.agents.callbacks import Callback
from ilfo.common import tally

if TYPE_CHECKING:
    from rich.live import Live


class Progress(Callback):
    """A live bar on a terminal, one plain line per iteration anywhere else.

    As a context manager it can show something before training begins, and stops when that fails.
    """

    def __init__(self, console: Console | None = None):
        self.console = Console() if console is None else console
        self._live: "Live | None" = None
        self._doing: tuple[str, float] | None = None
        self._begun = self._told = self._learned = False
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.on_end(None)

    def _forget(self) -> None:
        """What was shown of the last training."""
        self._first: Mapping[str, Any] | None = None
        self._untrained: float | None = None
        self._shown: tuple[Mapping[str, Any], str, str] = ({}, "", "left -")

    def on_start(self, agent: Any) -> None:
        self.begin()
        self._forget()
        known = agent.history  # also of iterations before a resume
        if "mmd" in known and known["iteration"][0] == 1:
            self._untrained = float(np.mean(known["mmd"][0]))

    def begin(self) -> None:
        """Show something from now on; training does it by itself."""
        if self._begun:
            return
        self._begun, self._learned = True, False
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            from rich.live import Live  # commands that only print something do without it

            self._live = Live(
                get_renderable=self._picture, console=self.console, refresh_per_second=4
            )
            self._live.start()

    def doing(self, what: str) -> None:
        """Show on a terminal what is being done, and for how long."""
        self.begin()
        self._doing = (what, time.monotonic())
        if self._live is not None:
            self._live.refresh()

    def on_phase(self, agent: Any, doing: str) -> None:
        self.doing(doing)
        self._tell(agent)
        if self._live is None:
            self._line(f"{doing} ...")

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> None:
        self._doing, self._learned = None, True
        self._first = dict(log) if self._first is None else self._first
        values, pace = self._values(agent.method.shown, log), _pace(self._first, log)
        if log.get("iteration") == 1:
            self._untrained = _mean(log, "mmd")
        self._shown = (dict(log), values, pace)
        if self._live is not None:
            self._live.refresh()
        else:
            self._line(f"{_head(log)}  {values}  {pace}")

    def on_end(self, agent: Any) -> None:
        self._doing, self._begun, self._told = None, False, False
        if self._live is not None:
            self._live.transient = not self._learned  # nothing was learned: leave nothing behind
            self._live.stop()
            self._live = None

    def _tell(self, agent: Any) -> None:
        """What was found in the recordings, once it is known."""
        if not self._told and "findings" in vars(agent) and agent.iteration == 0:
            self._told = True
            for finding in agent.findings:
                self._line(str(finding))

    def _line(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _picture(self) -> Group:
        log, values, pace = self._shown
        if self._doing is not None:
            doing, since = self._doing
            elapsed = timedelta(seconds=int(time.monotonic() - since))
            values = f"{doing} ... {elapsed}"
        return _bar(log, values, pace)

    def _values(self, shown: Mapping[str, str], log: Mapping[str, Any]) -> str:
        """The metrics that the method shows, with their labels; a distance with what it was for
        the untrained policy."""
        values = {
            key: f"{label} {_short(_mean(log, key))}" for key, label in shown.items() if key in log
        }
        if "mmd" in values and self._untrained is not None:
            values["mmd"] += f" (untrained {_short(self._untrained)})"
        return "  ".join(values.values())


def _bar(log: Mapping[str, Any], values: str, pace: str) -> Group:
    done, total = _unit(log)
    bar = ProgressBar(total=_mean(log, total) or 1.0, completed=_mean(log, done) or 0.0)
    # Without colours the bar ends where it is filled, and only padding fills its line.
    return Group(Text(f"{_head(log)}  {pace}"), Padding(bar, 0), Text(values))


def _unit(log: Mapping[str, Any]) -> tuple[str, str]:
    """What progress is counted in, and its total: environment steps, or iterations for a method
    that takes none."""
    if "total_iterations" in log:
        return "iteration", "total_iterations"
    return "online_samples", "total_timesteps"


def _head(log: Mapping[str, Any]) -> str:
    done, total = _unit(log)
    counted = f"{_whole(log, done)}/{_whole(log, total)}"
    if done == "iteration":
        return f"iteration {counted}"
    return f"iteration {_whole(log, 'iteration')}  samples {counted}"


def _mean(log: Mapping[str, Any], key: str) -> float | None:
    value = log.get(key)
    return None if value is None else float(np.mean(value))


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _whole(log: Mapping[str, Any], key: str) -> str:
    value = _mean(log, key)
    return "-" if value is None or not math.isfinite(value) else f"{value:.0f}"


def _pace(first: Mapping[str, Any], log: Mapping[str, Any]) -> str:
    """How many steps of a seed, or iterations, in a second, and the time left."""
    # Measured since the first iteration of this process: compiling, and the iterations before a
    # resume, say nothing about the time of the remaining iterations.
    seconds = _number(log, "seconds") - _number(first, "seconds")
    done, total = _unit(log)
    work = _number(log, done) - _number(first, done)
    remaining = _number(log, total) - _number(log, done)
    if not (math.isfinite(seconds) and math.isfinite(remaining) and work > 0):
        return "left -"
    left = tally.time_left(work, work + remaining, seconds)
    return f"{tally.pace(work, seconds)}  left {left}"


def _number(log: Mapping[str, Any], key: str) -> float:
    value = _mean(log, key)
    return math.nan if value is None else value
