"""Do recordings fit an environment? Checked before training, and by `ilfo doctor`.

The environment is looked at: a few resets, and a few steps of random actions. What the recordings
hold is compared with that, dimension by dimension. Findings are of two kinds: what is *wrong*, so
that learning would be in vain, and what is *doubtful*. The findings change nothing that a method
learns.
"""

import hashlib
from collections.abc import Iterator

import numpy as np

from ilfo.agents.findings import Finding
from ilfo.agents.kinematics import motion_findings
from ilfo.agents.problem import Problem
from ilfo.agents.sight import LISTED, Sight, bounds
from ilfo.data.demonstrations import Trajectory
from ilfo.environments.factory import Factory

FIRSTS = 1_000
"""First states of recordings that are compared with resets."""
UNITS = 30.0
"""Magnitudes that differ by more than this factor are taken for other units."""
JUMP = 10.0
"""A change of a dimension so many times as large as most of its changes is a jump."""
RESTING, RESTS = 1e-3, 0.5
"""A step whose change is below that share of the usual spread is rest; more of it than that share
is remarked."""


class Recordings:
    """What a pass over the recordings gathers for their examination."""

    def __init__(self, every: int):
        self.every = every
        self.firsts: list[np.ndarray] = []
        """First states of the first trajectories."""
        self.states: list[int] = []
        """Number of states of each trajectory."""
        self.terminal: list[bool] = []
        self.low: np.ndarray | float = np.inf
        self.high: np.ndarray | float = -np.inf
        """Range of each dimension."""
        self.copies = 0
        """Trajectories whose states are those of an earlier one."""
        self._known: set[bytes] = set()

    def add(self, trajectory: Trajectory) -> None:
        if len(self.firsts) < FIRSTS:
            self.firsts.append(trajectory.states[0])
        digest = hashlib.blake2b(trajectory.states.tobytes(), digest_size=16).digest()
        self.copies += digest in self._known
        self._known.add(digest)
        self.states.append(len(trajectory.states))
        self.terminal.append(trajectory.terminal)
        self.low = np.minimum(self.low, trajectory.states.min(0))
        self.high = np.maximum(self.high, trajectory.states.max(0))


def examine(
    sight: Sight,
    factory: Factory,
    problem: Problem,
    recordings: Recordings,
    pairs: np.ndarray,
    *,
    clips: bool,
) -> list[Finding]:
    """Everything that is wrong or doubtful about imitating these recordings in this environment.

    `sight` is what the environment shows; `pairs` is a sample of neighbouring states; `clips` says
    that the recordings may begin anywhere.
    """
    firsts = np.stack(recordings.firsts)
    if not np.isfinite(sight.visited).all():
        return []  # training says what is wrong with such observations
    limits = bounds(factory.observation_space, problem)
    found = [
        *_outside(sight, recordings, limits),
        *(() if clips else _beginnings(sight, firsts, recordings, limits)),
        *motion_findings(sight, pairs, recordings.every),
        *_units(sight, recordings),
        *_still(sight, recordings),
        *_twins(sight, pairs[:, 1]),
        *(() if clips else _joined(sight, pairs)),
        *_lengths(recordings, factory.horizon, clips),
        *_rest(pairs),
    ]
    return sorted(found, key=lambda finding: not finding.wrong)


def _outside(sight, recordings, limits) -> Iterator[Finding]:
    beyond = _beyond(sight, recordings.low, recordings.high, limits)
    if beyond.any():
        low, high = limits
        first = int(np.flatnonzero(beyond)[0])
        yield Finding(
            True,
            f"recorded states leave the environment's observation space in {sight.listed(beyond)}: "
            f"dimension {sight.label(first)} is between {recordings.low[first]:.4g} and "
            f"{recordings.high[first]:.4g}, where the space allows {low[first]:.4g} to "
            f"{high[first]:.4g}; check the units and the order of the columns",
        )


def _beyond(sight, lowest: np.ndarray, highest: np.ndarray, limits) -> np.ndarray:
    """The dimensions in which such a range is outside of the observation space."""
    if limits is None:
        return np.zeros(len(lowest), bool)
    low, high = (np.asarray(bound, np.float64) for bound in limits)
    room = 1e-4 * np.where(np.isfinite(high - low), high - low, 0) + 1e-6
    # an environment that leaves its own Box does not know it
    known = (sight.visited >= low - room).all(0) & (sight.visited <= high + room).all(0)
    return known & ((lowest < low - room) | (highest > high + room))


def _beginnings(sight, firsts: np.ndarray, recordings, limits) -> Iterator[Finding]:
    """Whether recordings begin where episodes begin."""
    center, away = _away(sight, firsts)
    near = (away <= 1).mean(0)  # share of recordings that begin near a reset, for each dimension
    if (away <= 1).all(1).any():
        return
    far = near < 0.5
    never = (near == 0) & (np.ptp(sight.visited, 0) == 0)  # always the same, and another number
    order = _reordered(sight, firsts)
    if (
        order is not None
        and not _beyond(sight, recordings.low[order], recordings.high[order], limits).any()
    ):
        yield Finding(
            True,
            "the columns look permuted: no recording begins near a reset, but in the order "
            f"{order} they would; put the columns into the order of the environment's observation "
            "(unless these are recordings of another environment)",
        )
    elif far.mean() >= 0.5 or never.any():
        first = int(np.flatnonzero(never if never.any() else far)[0])
        yield Finding(
            True,
            f"no recording begins anywhere near a reset: {sight.listed(far)} differ, dimension "
            f"{sight.label(first)} begins at {np.median(firsts[:, first]):.4g} and is "
            f"{center[first]:.4g} after a reset; check that the recordings are of this "
            "environment, in its units (if they are clips from the midst of episodes, say so: "
            "--clips)",
        )
    else:
        first = int(np.argmin(near))
        yield Finding(
            False,
            f"no recording begins near a reset; dimension {sight.label(first)} is furthest: "
            f"{np.median(firsts[:, first]):.4g}, and {center[first]:.4g} after a reset. "
            "The learner has to begin at resets, so it cannot match these beginnings; if these are "
            "clips from the midst of episodes, say so: --clips",
        )


def _away(sight, firsts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centers of the reset states, and how far the first states are outside of what resets show, 1
    being the end of what is plausible."""
    low, high = sight.resets.min(0), sight.resets.max(0)
    spread = np.ptp(sight.visited, 0)
    room = np.maximum(high - low, 0.25 * spread) + 1e-3 * np.abs(sight.visited).max(0) + 1e-6
    beyond = np.maximum(low - firsts, firsts - high)
    return np.median(sight.resets, 0), np.maximum(beyond, 0) / room


def _reordered(sight, firsts: np.ndarray) -> list[int] | None:
    """An order of the columns in which recordings begin near a reset, if there is one."""
    dim = firsts.shape[1]
    if dim < 2:
        return None
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    typical = np.median(firsts, 0)
    cost = np.stack([_away(sight, np.full((1, dim), value))[1][0] for value in typical], 1)
    spreads = np.abs(np.log((np.ptp(sight.resets, 0)[:, None] + 1e-6) / (np.ptp(firsts, 0) + 1e-6)))
    order = linear_sum_assignment(cost + 0.01 * spreads)[1]
    if (order == np.arange(dim)).all():
        return None
    fits = (_away(sight, firsts[:, order])[1] <= 1).all(1)
    return [int(column) for column in order] if fits.mean() > 0.8 else None


def _units(sight, recordings) -> Iterator[Finding]:
    ours = np.abs(sight.visited).max(0)
    theirs = np.maximum(np.abs(recordings.low), np.abs(recordings.high))
    ratio = (theirs + 1e-6) / (ours + 1e-6)
    other = (ratio > UNITS) | (ratio < 1 / UNITS)
    other &= (ours > 1e-5) & (theirs > 1e-5)
    if other.any():
        worst = int(np.argmax(np.where(other, np.abs(np.log(ratio)), 0)))
        yield Finding(
            False,
            f"magnitudes differ by more than {UNITS:.0f} times in {sight.listed(other)}: dimension "
            f"{sight.label(worst)} reaches {theirs[worst]:.4g} in the recordings and "
            f"{ours[worst]:.4g} under random actions; are these the same units?",
        )


def _still(sight, recordings) -> Iterator[Finding]:
    still = (recordings.low == recordings.high) & (np.ptp(sight.visited, 0) > 0)
    if still.any():
        yield Finding(
            False,
            f"constant in the recordings, but not in the environment: {sight.listed(still)}; if "
            "they were not recorded, leave them out and say which are left (--observe)",
        )


def _twins(sight, states: np.ndarray) -> Iterator[Finding]:
    usual = _equal(sight.visited)
    pairs = [pair for pair in _equal(states) if pair not in usual]
    if pairs:
        shown = ", ".join(f"{sight.label(i)} and {sight.label(j)}" for i, j in pairs[:LISTED])
        yield Finding(
            False,
            f"equal in the recordings, but not in the environment: dimensions {shown}; was a "
            "column copied twice?",
        )


def _equal(rows: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of columns that are equal and vary."""
    places: dict[bytes, list[int]] = {}
    for column in np.flatnonzero(np.ptp(rows, 0) > 0):
        places.setdefault(rows[:, column].tobytes(), []).append(int(column))
    return [(same[0], other) for same in places.values() for other in same[1:]]


def _joined(sight, pairs: np.ndarray) -> Iterator[Finding]:
    """Whether several episodes are one recording: then it jumps to where episodes begin."""
    moved = np.abs(pairs[:, 1] - pairs[:, 0])
    usual = np.quantile(moved, 0.95, axis=0) + 1e-2 * np.ptp(pairs[:, 1], 0) + 1e-9
    before, after = ((_away(sight, pairs[:, place])[1] <= 1).all(1) for place in (0, 1))
    jumps = int(((moved > JUMP * usual).any(1) & after & ~before).sum())
    if jumps:
        yield Finding(
            False,
            f"in {jumps} of the recorded steps looked at, the state jumps to where "
            "episodes begin: these may be several episodes in one recording; say where each "
            "begins, by a column `episode` (or --episode NAME) or a file for each",
        )


def _lengths(recordings, horizon: int, clips: bool) -> Iterator[Finding]:
    lengths = recordings.every * (np.array(recordings.states) - 1)  # in control steps
    terminal = np.array(recordings.terminal)
    count = len(lengths)
    longer, short = int((lengths > horizon).sum()), int((lengths <= 1).sum())
    if longer:
        yield Finding(
            False,
            f"{longer} of {count} recordings are longer than the horizon ({lengths.max()} steps, "
            f"horizon {horizon}): what comes after it is not imitated, and returns cannot be "
            "compared; set --horizon to the length of the recordings",
        )
    if short and not clips:
        yield Finding(
            False, f"{short} of {count} recordings have one step or none; is `episode` right?"
        )
    yield from _early(lengths, terminal, horizon, clips)
    if recordings.copies:
        yield Finding(
            False,
            f"{recordings.copies} of {count} recordings are copies of others: they count as often "
            "as they are there, and hide how much the expert's episodes differ; leave them out",
        )
    if count == 1:
        yield Finding(
            False,
            "there is one recording: how much the expert's episodes differ, the noise floor, "
            "cannot be known",
        )


def _early(
    lengths: np.ndarray, terminal: np.ndarray, horizon: int, clips: bool
) -> Iterator[Finding]:
    """Recordings that end before the horizon without being terminal."""
    early, count = int(((lengths < horizon) & ~terminal).sum()), len(lengths)
    if clips or not early:
        return
    ended = (
        "if episodes ended by themselves (it fell, it reached the goal), say so: terminal=True, a "
        "column `terminal`, or --terminal; if they were cut, --clips says that they may begin "
        "anywhere"
    )
    if terminal.any():
        yield Finding(
            False,
            f"{early} of {count} recordings end before the horizon ({horizon}) without being "
            "terminal, others are terminal; if these ended by themselves, too, mark them so",
        )
    elif early < count:
        yield Finding(
            False,
            f"{early} of {count} recordings end before the horizon ({horizon}), and none is "
            f"terminal; {ended}",
        )
    elif len(set(lengths)) > 1:
        yield Finding(
            False,
            f"all recordings end before the horizon ({horizon}), after {lengths.min()} to "
            f"{lengths.max()} steps, and none is terminal; {ended}",
        )


def _rest(pairs: np.ndarray) -> Iterator[Finding]:
    spread = pairs[:, 1].std(0)
    moves = spread > 0
    change = np.abs(pairs[:, 1] - pairs[:, 0])[:, moves] / spread[moves]
    share = float((change < RESTING).all(1).mean())
    if share == 1:
        yield Finding(True, "nothing ever moves in the recordings, so there is nothing to imitate")
    elif share > RESTS:
        yield Finding(
            False,
            f"in {share:.0%} of the recorded steps nothing moves; if holding still is the task, "
            "that is right; if the expert was only waiting to begin or to end, cut these steps off",
        )
