"""A text summary of demonstrations, as printed by `ilfo demos inspect FILE`.

It takes one pass over the trajectories, so a stream larger than memory can be described too. It
reports what may harm learning without raising an error: constant dimensions, repeated
trajectories, and how many trajectories are terminal or truncated.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from ilfo.common.printable import printable
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.statements import EVERY, NAMES

LONGEST = 200
"""Characters of an entry of the metadata; of a longer one, such as the expert's learning curve, the
rest is left out."""


def describe(demonstrations: Demonstrations) -> str:
    """Counts, lengths, endings, returns, metadata, and a table of the state dimensions."""
    lengths: list[int] = []
    terminal = 0
    moments = _Moments()
    repeats = _Repeats()
    for index, trajectory in enumerate(demonstrations):
        lengths.append(len(trajectory.states) - 1)
        terminal += trajectory.terminal
        moments.add(trajectory.states)
        repeats.add(index, trajectory)
    lines = [
        f"trajectories  {len(lengths)}",
        f"states        {sum(lengths) + len(lengths)} of dimension {len(moments.mean)}",
        f"transitions   {_spread(lengths)} per trajectory",
        f"endings       {terminal} terminal, {len(lengths) - terminal} truncated",
        f"rate          {_rate(demonstrations)}",
        *_returns(demonstrations),
        *(
            _one_line(f"{name:<13} {value}")
            for name, value in demonstrations.metadata.items()
            if name != NAMES  # they are in the table
        ),
        "",
        *moments.table(demonstrations.names),
        "",
        f"constant dimensions: {_listed(moments.constant(demonstrations.names))}",
        f"repeated trajectories: {_listed(repeats.labels)}",
    ]
    return "\n".join(lines)


def _one_line(entry: str) -> str:
    line = printable(entry).replace("\n", "\\n")
    left_out = len(line) - LONGEST
    return line if left_out <= 0 else f"{line[:LONGEST]} ... and {left_out:,} more characters"


def _rate(demonstrations: Demonstrations) -> str:
    if EVERY not in demonstrations.metadata and demonstrations.seconds is not None:
        return f"one state every {demonstrations.seconds:g} s"
    if EVERY not in demonstrations.metadata:
        return "one state per control step; nothing in the file says otherwise"
    if demonstrations.every == 1:
        return "one state per control step"
    return f"one state every {demonstrations.every} control steps"


class _Moments:
    """Mean, variance and range per dimension in float64, updated by one trajectory at a time.

    With n states of mean m and sum of squared deviations M so far, and k more with m', M':
        m <- m + (m' - m) k / (n + k),   M <- M + M' + (m' - m)^2 n k / (n + k),
    which avoids the cancellation of a difference of sums of squares.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = np.zeros(0)
        self.squared_deviations = np.zeros(0)
        self.low = np.zeros(0)
        self.high = np.zeros(0)

    def add(self, states: np.ndarray) -> None:
        batch = states.astype(np.float64)
        k, mean = len(batch), batch.mean(axis=0)
        squared_deviations = ((batch - mean) ** 2).sum(axis=0)
        low, high = batch.min(axis=0), batch.max(axis=0)
        if self.count == 0:
            self.count, self.mean, self.squared_deviations = k, mean, squared_deviations
            self.low, self.high = low, high
            return
        n, gap = self.count, mean - self.mean
        self.count = n + k
        self.mean = self.mean + gap * k / (n + k)
        self.squared_deviations = (
            self.squared_deviations + squared_deviations + gap**2 * n * k / (n + k)
        )
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def constant(self, names: Sequence[str] | None) -> list[str]:
        label = lambda index: str(index) if names is None else f"{index} ({names[index]})"
        return [label(index) for index in np.flatnonzero(self.low == self.high)]

    def table(self, names: Sequence[str] | None) -> list[str]:
        std = np.sqrt(self.squared_deviations / self.count)
        rows = zip(self.low, self.mean, std, self.high, strict=True)
        head = "dimension" + "".join(f"{name:>13}" for name in ("min", "mean", "std", "max"))
        lines = [f"{i:>9}" + "".join(f"{x:>13.5g}" for x in row) for i, row in enumerate(rows)]
        if names is None:
            return [head, *lines]
        named = [f"{line}  {name}" for line, name in zip(lines, names, strict=True)]
        return [f"{head}  name", *named]


class _Repeats:
    """Finds trajectories whose states equal an earlier one's bit for bit; stores only hashes."""

    def __init__(self) -> None:
        self.first: dict[bytes, int] = {}
        self.labels: list[str] = []

    def add(self, index: int, trajectory: Trajectory) -> None:
        digest = hashlib.blake2b(trajectory.states.tobytes()).digest()
        earlier = self.first.setdefault(digest, index)
        if earlier != index:
            self.labels.append(f"{index} (as {earlier})")


def _spread(values: Sequence[float] | np.ndarray) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"min {low:g}, median {middle:g}, max {high:g}"


def _returns(demonstrations: Demonstrations) -> list[str]:
    returns = demonstrations.returns
    return [] if returns is None else [f"returns       {_spread(returns)}, mean {returns.mean():g}"]


def _listed(names: list[str], limit: int = 10) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) or "none") + more
