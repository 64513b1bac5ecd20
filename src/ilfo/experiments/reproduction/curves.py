"""Learning curves and running maxima (figures 2 to 7)."""

from collections.abc import Callable, Sequence
from typing import Any

from ilfo.experiments.lines import Line, greedy_line, running_line
from ilfo.experiments.plots import STEPS, draw_line
from ilfo.experiments.reproduction import findings
from ilfo.experiments.reproduction.exhibit import Measured, Rows, by_panel
from ilfo.experiments.reproduction.findings import Verdict, compared
from ilfo.experiments.reproduction.style import MOBILE, add_legend, line_style, panels
from ilfo.experiments.results import area, score_curve

HEADER = ("panel", "series", "seeds", "environment steps", "mean score", "low", "high")
MANY = 6
"""Times as many steps in the longest curve of a panel as in the shortest, from which the axis is
logarithmic."""
BEATEN, MATCHED = ("BC-O", "GAIfO", "ILPO"), ("BC", "GAIL")
"""The paper says that MobILE is better than the former and as good as the latter (section 5.1)."""


def curve_rows(measured: Sequence[Measured]) -> Rows:
    """The points of the learning curves."""
    return _rows(measured, greedy_line)


def running_rows(measured: Sequence[Measured]) -> Rows:
    """The points of the running maxima."""
    return _rows(measured, running_line)


def draw_curves(measured: Sequence[Measured]) -> Any:
    """Greedy score over environment steps, a panel per task."""
    return _draw(measured, greedy_line, "greedy score")


def draw_running(measured: Sequence[Measured]) -> Any:
    """Best greedy score so far over environment steps, a panel per task."""
    return _draw(measured, running_line, "best greedy score so far")


def against_baselines(measured: Sequence[Measured]) -> str:
    """MobILE's best policies against those of each baseline, as the paper compares them."""
    return findings.sentence(
        _beside(other.label, panel, compared(mobile.best, other.best))
        for panel, group in by_panel(measured).items()
        for mobile in group
        if mobile.label == MOBILE and mobile.records
        for other in group
        if other.records and other.label in BEATEN + MATCHED
    )


def _beside(baseline: str, panel: str, outcome: str) -> Verdict:
    if outcome == findings.BETTER:
        return Verdict(f"better than {baseline}", panel, True)
    if outcome == findings.WORSE:
        return Verdict(f"worse than {baseline}", panel, False)
    if outcome == findings.ALIKE and baseline in MATCHED:
        return Verdict(f"as good as {baseline}", panel, True)
    return Verdict(f"no clear difference from {baseline}", panel, None)


def optimism_matters(measured: Sequence[Measured]) -> str:
    """Mean scores of the curves with the bonus against those without, pair by pair."""
    said = {
        findings.BETTER: ("learns better with the bonus", True),
        findings.WORSE: ("learns worse with the bonus", False),
    }
    verdicts = []
    for panel, group in by_panel(measured).items():
        for bonus, without in zip(group[::2], group[1::2], strict=True):
            if bonus.records and without.records:
                outcome = compared(_areas(bonus), _areas(without))
                text, agrees = said.get(outcome, ("no clear effect of the bonus", None))
                verdicts.append(Verdict(f"{bonus.label}: {text}", panel, agrees))
    return findings.sentence(verdicts)


def two_models_suffice(measured: Sequence[Measured]) -> str:
    """The curves with more than two models against those with two."""
    verdicts = []
    for panel, group in by_panel(measured).items():
        two = next(each for each in group if each.label == "2 models")
        for other in group:
            models = int(other.label.split()[0])
            if models > 2 and other.records and two.records:
                outcome = compared(_areas(other), _areas(two))
                if outcome == findings.BETTER:
                    verdict = Verdict(f"{models} models are better than two", panel, False)
                else:
                    agrees = None if outcome == findings.UNKNOWN else True
                    verdict = Verdict(f"{models} models are not better than two", panel, agrees)
                verdicts.append(verdict)
    return findings.sentence(verdicts)


def _rows(measured: Sequence[Measured], line_of: Callable[..., Line | None]) -> Rows:
    rows: Rows = [HEADER]
    for each in measured:
        line = line_of(each.records)
        if line is None:
            continue
        for place, mean in enumerate(line.mean):
            steps = "" if line.flat else f"{line.places[place]:.0f}"
            bounds = (
                "" if side is None else f"{side[place]:.4f}" for side in (line.low, line.high)
            )
            row = (each.panel, each.marked, str(line.seeds), steps, f"{mean:.4f}", *bounds)
            rows.append(row)
    return rows


def _draw(measured: Sequence[Measured], line_of: Callable[..., Line | None], ylabel: str) -> Any:
    groups = by_panel(measured)
    figure, axes = panels(list(groups))
    for panel, group in groups.items():
        axis, ends = axes[panel], []
        for place, each in enumerate(group):
            line = line_of(each.records)
            if line is None:
                continue
            style = line_style(each.label, place, stale=each.stale)
            draw_line(axis, line, each.marked, **style)
            if not line.flat:
                ends.append(line.places[-1])
        axis.set(xlabel=STEPS, ylabel=ylabel)
        if not any(each.records for each in group):
            axis.text(0.5, 0.5, "no results yet", transform=axis.transAxes, ha="center")
        elif ends and max(ends) > MANY * min(ends):
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter("{x:g}")
    add_legend(figure)
    return figure


def _areas(each: Measured) -> list[float]:
    return [area(record) for record in each.records if len(score_curve(record)) > 1]
