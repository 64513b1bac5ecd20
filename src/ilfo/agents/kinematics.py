"""Do recordings move as the environment moves?

Many environments show positions and their velocities. In such a pair of dimensions i and j, the
change of i over a step is a constant (the time of a step) times j: before the step, after it or
between, as the environment steps; what fits best is taken. The pairs are found where random actions
move the environment; the recordings must show the same constant, or they are at another rate, in
other units, in another order, or backwards.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from ilfo.agents.findings import Finding
from ilfo.agents.sight import LISTED, Sight

CERTAIN, LIKELY = 0.98, 0.8
"""Correlations by which a pair is found in the environment, and is compared in the recordings."""
CLEARLY = 0.1
"""Another dimension is followed instead if its correlation is so much larger."""
SAME = 1.5
"""Constants within this factor are the same."""
RATES = 20
"""Recorded states are hardly more control steps apart."""


Level = Literal["between", "before", "after"]
LEVELS: tuple[Level, ...] = ("between", "before", "after")
"""The velocity by which a position changes over a step: the mean of both, the one before the step,
or the one after it."""


class Pace(NamedTuple):
    """How a dimension of the recordings moves, compared with the environment."""

    position: int
    velocity: int
    """The dimension that says how fast the position changes in the environment."""
    ratio: float
    """Change of the position for the same velocity, recorded over the environment's."""
    follows: int
    """The dimension that it follows in the recordings instead; the velocity where it is right."""


def motion_findings(sight: Sight, pairs: np.ndarray, every: int) -> Iterator[Finding]:
    """Whether positions move as their velocities say. `pairs` (m, 2, S) are recorded states that
    are `every` control steps apart."""
    found = list(paces(sight.steps, pairs))
    exchanged = [pace for pace in found if pace.follows != pace.velocity]
    if exchanged:
        shown = "; ".join(
            f"dimension {sight.label(pace.position)} moves with {sight.label(pace.follows)}, in "
            f"the environment with {sight.label(pace.velocity)}"
            for pace in exchanged[:LISTED]
        )
        yield Finding(False, f"columns look exchanged: {shown}; check the order of the columns")
    turned = list(turned_pairs(sight.steps, pairs))
    if turned:
        shown = "; ".join(
            f"dimension {sight.label(position)} should move as {sight.label(velocity)} says, but "
            f"{sight.label(velocity)} moves as {sight.label(position)} says"
            for position, velocity in turned[:LISTED]
        )
        yield Finding(
            False,
            f"positions and velocities look exchanged: {shown}; check the order of the columns",
        )
    paired = [
        pace._replace(ratio=pace.ratio / every) for pace in found if pace.follows == pace.velocity
    ]
    off = [pace for pace in paired if not 1 / SAME < pace.ratio < SAME]
    if off:
        alike = len(off) == len(paired) and np.ptp([pace.ratio for pace in off]) < abs(off[0].ratio)
        yield Finding(False, _pace(sight, off[0], every, everywhere=alike))


def _pace(sight: Sight, pace: Pace, every: int, *, everywhere: bool) -> str:
    """What a wrong pace of one position, or of all of them, may mean."""
    position, velocity = sight.label(pace.position), sight.label(pace.velocity)
    measured = (
        f"dimension {position} changes {pace.ratio:.2g} times as much as its velocity, dimension "
        f"{velocity}, says"
    )
    steps = round(pace.ratio * every)
    if everywhere and pace.ratio < 0:
        return f"the recordings look as if they ran backwards: {measured}; turn them round"
    if everywhere and 1 < steps < RATES:
        return (
            f"recorded states look {steps} control steps apart, not {every}: {measured}; if so, "
            f"say --every {steps} (or --rate); or are the velocities in other units?"
        )
    return f"{measured}; are both in the same units, and at the rate of the environment's steps?"


def paces(seen: np.ndarray, recorded: np.ndarray) -> Iterator[Pace]:
    """One for each position that the environment's steps (n, 2, S) show, and whose velocity the
    recorded ones (m, 2, S) do not contradict by noise alone."""
    if min(len(seen), len(recorded)) < 3:
        return
    alike, slopes, _ = _relations(seen)
    own_alike, own_slopes, _ = _relations(recorded)
    for position in range(len(alike)):
        velocity = int(np.argmax(alike[position]))
        if alike[position, velocity] < CERTAIN:
            continue
        best = int(np.argmax(own_alike[position]))
        right, largest = own_alike[position, velocity], own_alike[position, best]
        if largest >= LIKELY + CLEARLY and largest - right >= CLEARLY:
            yield Pace(position, velocity, np.nan, best)
        elif right >= LIKELY:
            ratio = own_slopes[position, velocity] / slopes[position, velocity]
            yield Pace(position, velocity, float(ratio), velocity)


class Motion(NamedTuple):
    """A position and its velocity, as an environment shows them."""

    position: int
    velocity: int
    slope: float
    """Change of the position over a control step, for a velocity of 1."""
    level: Level
    """When the velocity is the one by which the position changes over the step."""


def motions(seen: np.ndarray) -> Iterator[Motion]:
    """One for each position that the environment's steps (n, 2, S) show."""
    if len(seen) < 3:
        return
    alike, slopes, levels = _relations(seen)
    for position in range(len(alike)):
        velocity = int(np.argmax(alike[position]))
        if alike[position, velocity] >= CERTAIN:
            slope = float(slopes[position, velocity])
            yield Motion(position, velocity, slope, LEVELS[levels[position, velocity]])


def turned_pairs(seen: np.ndarray, recorded: np.ndarray) -> Iterator[tuple[int, int]]:
    """Positions and their velocities in the environment that are the other way round in the
    recordings. Where velocities follow positions in the environment, too, as on a spring, it cannot
    be told."""
    if min(len(seen), len(recorded)) < 3:
        return
    alike, own_alike = _relations(seen)[0], _relations(recorded)[0]
    for position in range(len(alike)):
        velocity = int(np.argmax(alike[position]))
        if alike[position, velocity] < CERTAIN or alike[velocity, position] >= LIKELY:
            continue
        right, turned = own_alike[position, velocity], own_alike[velocity, position]
        if turned >= LIKELY + CLEARLY and turned - right >= CLEARLY:
            yield position, velocity


def _relations(steps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For dimensions i and j: how closely the change of i follows j, without sign, the factor
    between them, and which of `LEVELS` of j fits best; the others are of that level. No dimension
    is its own velocity."""
    rows = steps.astype(np.float64)
    change = rows[:, 1] - rows[:, 0]
    related = [_relation(change, level) for level in (rows.mean(1), rows[:, 0], rows[:, 1])]
    alike, slopes = (np.stack(each) for each in zip(*related, strict=True))
    best = alike.argmax(0)
    alike = np.take_along_axis(alike, best[None], 0)[0]
    np.fill_diagonal(alike, 0)
    return alike, np.take_along_axis(slopes, best[None], 0)[0], best


def _relation(change: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlations without sign, and factors, of all changes with all levels."""
    change, level = change - change.mean(0), level - level.mean(0)
    products = change.T @ level
    norms = np.linalg.norm(change, axis=0)[:, None] * np.linalg.norm(level, axis=0)
    safe = lambda values: np.where(values > 1e-12, values, np.inf)
    return np.abs(products / safe(norms)), products / safe((level**2).sum(0))
