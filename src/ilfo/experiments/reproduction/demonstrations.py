"""The number of demonstrations (table 1)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ilfo.experiments.reproduction import findings
from ilfo.experiments.reproduction.exhibit import Measured, Rows, by_panel
from ilfo.experiments.reproduction.findings import Verdict
from ilfo.experiments.reproduction.published import TABLE_1, Score
from ilfo.experiments.reproduction.style import MOBILE, table_figure

HEADER = ("task", "demonstrations", "settings", "seeds", "ours", "paper", "ours, without reward")
NEAR = "about at"


def demonstration_rows(measured: Sequence[Measured]) -> Rows:
    """Mean ± standard deviation of the best policies by true return, beside the paper's."""
    rows: Rows = [HEADER]
    for each in measured:
        if each.records:
            chosen = [record["result"]["greedy_score"] for record in each.records]
            rows.append(
                (
                    each.panel,
                    str(_count(each)),
                    each.marked.replace(MOBILE, "default", 1).removeprefix("default, "),
                    str(len(each.records)),
                    _spread(each.best),
                    str(_published(each)),
                    _spread(chosen),
                )
            )
    return rows


def draw_demonstrations(measured: Sequence[Measured]) -> Any:
    """The table as a figure."""
    return table_figure(demonstration_rows(measured))


def more_demonstrations_help(measured: Sequence[Measured]) -> str:
    """Our means against the paper's, and the spread with more demonstrations against with fewer."""
    verdicts = []
    for panel, group in by_panel(measured).items():
        known = [each for each in group if len(each.records) > 1]
        for each in known:
            how = _beside(each)
            claim = f"{each.label} is {how} the paper's score"
            verdicts.append(Verdict(claim, f"{panel} with {_count(each)}", how == NEAR))
        for few in known:
            for many in known:
                if few.label == many.label and _count(few) < _count(many):
                    steadier = bool(np.std(many.best) <= np.std(few.best))
                    how = "no more" if steadier else "more"
                    claim = f"{few.label} varies {how} with more demonstrations"
                    verdicts.append(Verdict(claim, panel, steadier))
    return (
        "A mean agrees if it differs from the paper's by no more than the two standard deviations "
        f"together; spreads are compared without a test. {findings.sentence(verdicts)}"
    )


def _beside(each: Measured) -> str:
    """Where our mean is, relative to the paper's."""
    said = _published(each)
    difference = float(np.mean(each.best)) - said.mean
    if abs(difference) <= np.std(each.best) + (said.deviation or 0.0):
        return NEAR
    return "above" if difference > 0 else "below"


def _count(each: Measured) -> int:
    return each.records[0]["summary"]["demonstrations"]["trajectories"]


def _published(each: Measured) -> Score:
    return TABLE_1[str(each.series.cell.spec.task), _count(each)]


def _spread(values: Sequence[float]) -> str:
    deviation = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{deviation}"
