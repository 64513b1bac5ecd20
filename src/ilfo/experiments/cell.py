"""One cell of a sweep: what to train, on which demonstrations, and what to measure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.runs.spec import RunSpec


@dataclass(frozen=True)
class Cell:
    """A training run that is repeated over seeds."""

    name: str
    spec: RunSpec
    """What to train; its `demos` is None if `record` makes the demonstrations."""
    record: Callable[[], Demonstrations] | None = None
    """Makes the demonstrations if the task has no bundled ones; always returns the same."""
    measure: Callable[[np.ndarray], float] | None = None
    """An additional metric, a function of an episode's states (n, S); smaller is better."""
    visits: tuple[tuple[float, float, int], ...] | None = None
    """Low, high and number of bins along the first dimensions of the state: the result also says
    how often each bin was visited in training, as far as the replay buffer holds it."""
    every: int = 1
    """The return is evaluated every `every` iterations."""
    home: str | None = None
    """The sweep that runs the cell and keeps its results; None for the sweep that lists it."""

    def kept_in(self, sweep: str) -> str:
        """The sweep that keeps the results of this cell, which `sweep` lists."""
        return self.home or sweep

    @property
    def seeds(self) -> range:
        """Seeds of the cell."""
        return range(self.spec.first_seed, self.spec.first_seed + self.spec.seeds)
