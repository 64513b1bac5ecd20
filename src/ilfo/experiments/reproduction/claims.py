"""What the paper says about its curves and bars, held against ours (figures 1 to 7)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ilfo.experiments.reproduction import findings
from ilfo.experiments.reproduction.exhibit import Measured, by_panel
from ilfo.experiments.reproduction.findings import Verdict, compared
from ilfo.experiments.reproduction.style import MOBILE
from ilfo.experiments.results import area, score_curve

BEATEN, MATCHED = ("BC-O", "GAIfO", "ILPO"), ("BC", "GAIL")
"""The paper says that MobILE is better than the former and as good as the latter (section 5.1)."""
ADVERSARIES = ("GAIL", "GAIfO")
NEAR = 0.95
"""Score that counts as the expert's, as in the project's other tables."""


def against_baselines(measured: Sequence[Measured]) -> str:
    """MobILE's best policies against those of each baseline, as the paper compares them."""
    said = findings.sentence(
        _beside(other.label, panel, compared(mobile.best, other.best))
        for panel, mobile, other in _pairs(measured, BEATEN + MATCHED)
    )
    return f"MobILE's best policies by true return. {said}"


def sooner_than_baselines(measured: Sequence[Measured]) -> str:
    """Environment steps until the expert's score, against all that learn online (section 5.1)."""
    return _about_steps(_sooner(*each) for each in _pairs(measured, (*BEATEN, "GAIL")))


def sooner_than_adversaries(measured: Sequence[Measured]) -> str:
    """Environment steps until the expert's score against GAIL and GAIfO, and best policies against
    the others, as the paper's appendix says of its running maxima."""
    steps = _about_steps(_sooner(*each) for each in _pairs(measured, ADVERSARIES))
    others = [label for label in BEATEN + MATCHED if label not in ADVERSARIES]
    best = findings.sentence(
        _matching(other.label, panel, compared(mobile.best, other.best))
        for panel, mobile, other in _pairs(measured, others)
    )
    return f"{steps} Best policies by true return. {best}"


def _pairs(
    measured: Sequence[Measured], labels: Sequence[str]
) -> Iterator[tuple[str, Measured, Measured]]:
    """MobILE and each of these baselines in each panel, where both have results."""
    for panel, group in by_panel(measured).items():
        for mobile in group:
            for other in group:
                wanted = mobile.label == MOBILE and other.label in labels
                if wanted and mobile.records and other.records:
                    yield panel, mobile, other


def _about_steps(verdicts: Iterable[Verdict]) -> str:
    return (
        f"Environment steps until a seed's curve first has a score of {NEAR}, never being last. "
        + findings.sentence(verdicts)
    )


def _sooner(panel: str, mobile: Measured, other: Measured) -> Verdict:
    said = {
        findings.BETTER: (f"MobILE is sooner than {other.label}", True),
        findings.WORSE: (f"MobILE is later than {other.label}", False),
    }
    unclear = (f"no clear difference from {other.label}", None)
    text, agrees = said.get(_compared_steps(mobile, other), unclear)
    return Verdict(text, panel, agrees)


def _compared_steps(mobile: Measured, other: Measured) -> str:
    """By the places of the seeds in the order of their steps: fewer are better."""
    steps = [[_first_near(record) for record in each.records] for each in (mobile, other)]
    order = np.unique(steps[0] + steps[1])
    places = [[-float(np.searchsorted(order, step)) for step in group] for group in steps]
    return compared(*places)


def _first_near(record: dict[str, Any]) -> float:
    """Infinite if the curve never comes near the expert."""
    steps, scores = score_curve(record).T
    return float(min(steps[scores >= NEAR], default=np.inf))


def _matching(baseline: str, panel: str, outcome: str) -> Verdict:
    """As `_beside`, where the paper says no more than that MobILE matches or is better."""
    if outcome == findings.ALIKE:
        return Verdict(f"as good as {baseline}", panel, True)
    return _beside(baseline, panel, outcome)


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
    return f"Mean scores of the curves. {findings.sentence(verdicts)}"


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
    return f"Mean scores of the curves. {findings.sentence(verdicts)}"


def _areas(each: Measured) -> list[float]:
    return [area(record) for record in each.records if len(score_curve(record)) > 1]
