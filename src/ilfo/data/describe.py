"""What a set of demonstrations holds, as text: the answer to `ilfo demos inspect FILE`.

One pass over the trajectories, so that a stream larger than memory can be described too. What it
points out are the things that spoil learning without an error: dimensions that never move,
recordings that repeat each other, endings that were all cut off.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from ilfo.data.demonstrations import Demonstrations, Trajectory


def describe(demonstrations: Demonstrations) -> str:
    """Counts, lengths, endings, returns, metadata, and a table of the state's dimensions."""
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
        f"endings       {terminal} terminal, {len(lengths) - terminal} cut off",
        *_returns(demonstrations),
        *(f"{name:<13} {value}" for name, value in demonstrations.metadata.items()),
        "",
        *moments.table(),
        "",
        f"constant dimensions: {_listed(moments.constant())}",
        f"repeated trajectories: {_listed(repeats.found)}",
    ]
    return "\n".join(lines)


class _Moments:
    """Mean, variance and range per dimension in float64, taking in one trajectory at a time.

    With n states of mean m and summed squared deviations M so far, and k more with m', M':
        m <- m + (m' - m) k / (n + k),   M <- M + M' + (m' - m)^2 n k / (n + k),
    which does not cancel where a difference of sums of squares would.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = np.zeros(0)
        self.deviations = np.zeros(0)
        self.low = np.zeros(0)
        self.high = np.zeros(0)

    def add(self, states: np.ndarray) -> None:
        batch = states.astype(np.float64)
        k, mean = len(batch), batch.mean(axis=0)
        deviations = ((batch - mean) ** 2).sum(axis=0)
        low, high = batch.min(axis=0), batch.max(axis=0)
        if self.count == 0:
            self.count, self.mean, self.deviations = k, mean, deviations
            self.low, self.high = low, high
            return
        n, gap = self.count, mean - self.mean
        self.count = n + k
        self.mean = self.mean + gap * k / (n + k)
        self.deviations = self.deviations + deviations + gap**2 * n * k / (n + k)
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def constant(self) -> list[str]:
        return [str(index) for index in np.flatnonzero(self.low == self.high)]

    def table(self) -> list[str]:
        std = np.sqrt(self.deviations / self.count)
        rows = zip(self.low, self.mean, std, self.high, strict=True)
        head = "dimension" + "".join(f"{name:>13}" for name in ("min", "mean", "std", "max"))
        return [
            head,
            *(f"{i:>9}" + "".join(f"{x:>13.5g}" for x in row) for i, row in enumerate(rows)),
        ]


class _Repeats:
    """Trajectories whose states equal an earlier one's bit for bit; remembers only digests."""

    def __init__(self) -> None:
        self.first: dict[bytes, int] = {}
        self.found: list[str] = []

    def add(self, index: int, trajectory: Trajectory) -> None:
        digest = hashlib.blake2b(trajectory.states.tobytes()).digest()
        earlier = self.first.setdefault(digest, index)
        if earlier != index:
            self.found.append(f"{index} (as {earlier})")


def _spread(values: Sequence[float] | np.ndarray) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"min {low:g}, median {middle:g}, max {high:g}"


def _returns(demonstrations: Demonstrations) -> list[str]:
    returns = demonstrations.returns
    return [] if returns is None else [f"returns       {_spread(returns)}, mean {returns.mean():g}"]


def _listed(names: list[str], limit: int = 10) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) or "none") + more
