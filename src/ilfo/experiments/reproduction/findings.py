"""Sentences about what agrees with the paper, from permutation tests over seeds.

p is one-sided and not corrected for the number of comparisons.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ilfo.experiments.significance import LEAST, SIGNIFICANT, chance_of_as_much

BETTER, WORSE, ALIKE, UNKNOWN = "better", "worse", "alike", "unknown"


def compared(mine: Sequence[float], theirs: Sequence[float]) -> str:
    """Whether the first group is significantly better or worse; unknown with too few seeds."""
    if min(len(mine), len(theirs)) < LEAST:
        return UNKNOWN
    if chance_of_as_much(mine, theirs) < SIGNIFICANT:
        return BETTER
    return WORSE if chance_of_as_much(theirs, mine) < SIGNIFICANT else ALIKE


class Verdict(NamedTuple):
    """A statement of the paper, and whether our numbers agree with it."""

    said: str
    """Such as `better than BC-O`."""
    where: str
    agrees: bool | None
    """None if the numbers cannot decide."""


def sentence(verdicts: Iterable[Verdict]) -> str:
    """Agreeing, disagreeing and open statements, each with where it holds."""
    verdicts = list(verdicts)
    if not verdicts:
        return "There are no results to compare with the paper yet."
    groups = {
        "Agrees with the paper": [each for each in verdicts if each.agrees],
        "Does not agree": [each for each in verdicts if each.agrees is False],
        "Not decided by these seeds": [each for each in verdicts if each.agrees is None],
    }
    return " ".join(f"{name}: {_listed(group)}." for name, group in groups.items() if group)


def _listed(verdicts: Sequence[Verdict]) -> str:
    places: dict[str, list[str]] = {}
    for each in verdicts:
        places.setdefault(each.said, []).append(each.where)
    return "; ".join(f"{said} ({', '.join(where)})" for said, where in places.items())
