"""The progress display: a live bar on a terminal, plain lines anywhere else."""

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from ilfo.agents.callbacks import Callback


class Progress(Callback):
    """A live bar on a terminal, one plain line per iteration anywhere else."""

    def __init__(self, console: Console | None = None):
        self.console = Console() if console is None else console
        self._live: Live | None = None
        self._first: Mapping[str, Any] | None = None

    def on_start(self, agent: Any) -> None:
        self._first = None
        if agent.iteration == 0:
            for finding in agent.findings:
                self.console.print(str(finding), markup=False, highlight=False, soft_wrap=True)
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            self._live = Live(_bar({}, "", "-"), console=self.console)
            self._live.start()

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> None:
        self._first = dict(log) if self._first is None else self._first
        left, values = _time_left(self._first, log), _values(agent.method.shown, log)
        if self._live is not None:
            self._live.update(_bar(log, values, left), refresh=True)
        else:
            line = f"iteration {_whole(log, 'iteration')}  samples {_samples(log)}  {values}"
            self.console.print(
                f"{line}  left {left}", markup=False, highlight=False, soft_wrap=True
            )

    def on_end(self, agent: Any) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _bar(log: Mapping[str, Any], values: str, left: str) -> Group:
    head = f"iteration {_whole(log, 'iteration')}  samples {_samples(log)}  left {left}"
    bar = ProgressBar(
        total=_mean(log, "total_timesteps") or 1.0, completed=_mean(log, "online_samples") or 0.0
    )
    # Without colours the bar ends where it is filled, and only padding fills its line.
    return Group(Text(head), Padding(bar, 0), Text(values))


def _values(shown: Mapping[str, str], log: Mapping[str, Any]) -> str:
    """The metrics that the method shows, with their labels."""
    return "  ".join(
        f"{label} {_short(_mean(log, key))}" for key, label in shown.items() if key in log
    )


def _samples(log: Mapping[str, Any]) -> str:
    return f"{_whole(log, 'online_samples')}/{_whole(log, 'total_timesteps')}"


def _mean(log: Mapping[str, Any], key: str) -> float | None:
    value = log.get(key)
    return None if value is None else float(np.mean(value))


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _whole(log: Mapping[str, Any], key: str) -> str:
    value = _mean(log, key)
    return "-" if value is None or not math.isfinite(value) else f"{value:.0f}"


def _time_left(first: Mapping[str, Any], log: Mapping[str, Any]) -> str:
    # Measured since the first iteration of this process: compiling, and the iterations before a
    # resume, say nothing about the time of the remaining iterations.
    seconds = _number(log, "seconds") - _number(first, "seconds")
    samples = _number(log, "online_samples") - _number(first, "online_samples")
    remaining = _number(log, "total_timesteps") - _number(log, "online_samples")
    left = remaining * seconds / samples if samples > 0 else math.nan
    return str(timedelta(seconds=round(max(left, 0.0)))) if math.isfinite(left) else "-"


def _number(log: Mapping[str, Any], key: str) -> float:
    value = _mean(log, key)
    return math.nan if value is None else value
