"""The progress display: a live bar on a terminal, plain lines anywhere else."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
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

FIRST_ITERATION = "first iteration"
"""What is done when compiling has ended; how long it takes says how long the others will."""


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
        self._untrained: list[float] = []  # distances, one for each iteration in which it acted
        self._exploring = 0
        self._shown: tuple[Mapping[str, Any], str, str] = ({}, "", "left -")

    def on_start(self, agent: Any) -> None:
        self.begin()
        self._forget()
        self._shown = (_before(agent), "", "left -")
        self._exploring = agent.exploring_iterations
        if len(agent.seeds) > 1:
            self._line(
                f"{len(agent.seeds)} seeds: the numbers of a line are means over them; samples are "
                "those of each seed"
            )
        if agent.iteration < self._exploring:
            self._line(_intention(agent))
        known = agent.history  # also of iterations before a resume
        if "mmd" in known and known["iteration"][0] == 1:
            self._untrained = [float(np.mean(mmd)) for mmd in known["mmd"][: self._acting]]

    @property
    def _acting(self) -> int:
        """Iterations in which the untrained policy acts."""
        return max(self._exploring, 1)

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
        before = self._doing
        self.doing(doing)
        self._tell(agent)
        if self._first is None:
            self._shown = (_before(agent), "", "left -")
        if self._live is None:
            # a terminal has shown the seconds meanwhile
            took = _clock(before[1]) if before else timedelta()
            self._line(f"{doing} ..." + (f"  ({before[0]}: {took})" if before and took else ""))

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> None:
        since = self._since(agent, log)
        self._doing, self._learned = None, True
        values, pace = self._values(agent.method.shown, log), _pace(since, log)
        distance = _mean(log, "mmd")
        if distance is not None and (log.get("iteration") or np.inf) <= self._acting:
            self._untrained.append(distance)
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

    def _since(self, agent: Any, log: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the pace is measured from. Compiling, and the iterations before a resume, say
        nothing about the time of the remaining iterations: that is the end of the first iteration
        of this process, and at its end, if it is known, when it began."""
        if self._first is not None:
            return self._first
        self._first = dict(log)
        if self._doing is None or self._doing[0] != FIRST_ITERATION:
            return self._first
        return {
            "iteration": _number(log, "iteration") - 1,
            "online_samples": _number(log, "online_samples") - agent.samples_per_iteration,
            "seconds": _number(log, "seconds") - (time.monotonic() - self._doing[1]),
        }

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
            values = f"{self._doing[0]} ... {_clock(self._doing[1])}"
        return _bar(log, values, pace)

    def _values(self, shown: Mapping[str, str], log: Mapping[str, Any]) -> str:
        """The metrics that the method shows, with their labels; a distance with what it was for
        the untrained policy; and whether that one acted, and was meant to."""
        values = {
            key: f"{label} {_short(_mean(log, key))}" for key, label in shown.items() if key in log
        }
        if "mmd_floor" in values and _mean(log, "mmd_floor") == 0:  # of one recording
            values["mmd_floor"] = f"{shown['mmd_floor']} unknown"
        learned = (log.get("iteration") or np.inf) > self._acting
        if "mmd" in values and self._untrained and learned:
            values["mmd"] += f" (untrained {_short(float(np.mean(self._untrained)))})"
        if (log.get("iteration") or np.inf) <= self._exploring:
            number = f"{_whole(log, 'iteration')} of {self._exploring}"
            values["exploring"] = f"(untrained policy acted, on purpose: {number})"
        return "  ".join(values.values())


def _bar(log: Mapping[str, Any], values: str, pace: str) -> Group:
    done, total = _unit(log)
    bar = ProgressBar(total=_mean(log, total) or 1.0, completed=_mean(log, done) or 0.0)
    # Without colours the bar ends where it is filled, and only padding fills its line.
    return Group(Text(f"{_head(log)}  {pace}"), Padding(bar, 0), Text(values))


def _before(agent: Any) -> dict[str, Any]:
    """What is known before an iteration, as a log has it; nothing before `learn` is called."""
    counts = {"iteration": agent.iteration, "online_samples": agent.online_samples}
    return {**counts, **agent.goal} if agent.goal else {}


def _intention(agent: Any) -> str:
    """Why nothing seems to be learned at first."""
    count = agent.exploring_iterations
    steps = count * agent.samples_per_iteration
    which = f"the first {count} iterations" if count > 1 else "the first iteration"
    return (
        f"in {which} ({steps} environment steps) the untrained policy acts, on purpose: its steps "
        f"show what actions do{_how_to_shorten(agent)}"
    )


def _how_to_shorten(agent: Any) -> str:
    """The setting by which it acts in one iteration only, where there is one. It counts
    iterations, or environment steps. A run that has begun keeps its settings."""
    count = agent.exploring_iterations
    for name, value in _lengths(agent.settings):
        if count > 1 and agent.iteration == 0:
            least = 1 if value == count else agent.samples_per_iteration
            return f"; with --set {name}={least} it does so in one iteration only"
    return ""


def _lengths(settings: Any, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Settings called `explore`, by their dotted names, and their values."""
    for field in fields(settings) if is_dataclass(settings) else ():
        value, name = getattr(settings, field.name), f"{prefix}{field.name}"
        if field.name == "explore":
            yield name, value
        else:
            yield from _lengths(value, f"{name}.")


def _clock(since: float) -> timedelta:
    return timedelta(seconds=int(time.monotonic() - since))


def _unit(log: Mapping[str, Any]) -> tuple[str, str]:
    """What progress is counted in, and its total: environment steps, or iterations for a method
    that takes none."""
    if "total_iterations" in log:
        return "iteration", "total_iterations"
    return "online_samples", "total_timesteps"


def _head(log: Mapping[str, Any]) -> str:
    if not log:
        return "starting"
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
