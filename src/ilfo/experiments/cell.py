"""One cell of a sweep: what to train, from which demonstrations, and what to measure besides."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.runs.launch import RunSpec


@dataclass(frozen=True)
class Cell:
    name: str
    spec: RunSpec
    """Its `demos` is left out where `record` makes them."""
    record: Callable[[], Demonstrations] | None = None
    """Makes the demonstrations of a cell whose task does not bundle any; always the same ones."""
    measure: Callable[[np.ndarray], float] | None = None
    """Of an episode's states: a number that the return does not show, the smaller the better."""
    every: int = 1
    """The true return is measured after every that many iterations."""
    home: str | None = None
    """The sweep that runs it and keeps its results, where that is another than the one that lists
    it."""

    def kept_in(self, sweep: str) -> str:
        """The sweep that has its results, when `sweep` lists it."""
        return self.home or sweep

    @property
    def seeds(self) -> range:
        return range(self.spec.first_seed, self.spec.first_seed + self.spec.seeds)
