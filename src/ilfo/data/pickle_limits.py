"""Limits on what a pickle may make, by the size of its file.

A small file costs less than a second and 200 MB, whatever it holds; a large one costs in
proportion to its size. No recording comes near the limits.
"""

import sys
from typing import IO, Any

import numpy as np

DEPTH = 100
"""Containers inside of each other."""


class PickleError(ValueError):
    """A pickle holds more than plain data or is damaged."""


class Bounded:
    """A file that is never asked for more bytes than it has left. A length in a pickle may be any
    number, and Python makes room for it before it reads."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        here = file.tell()
        self._end = file.seek(0, 2)
        file.seek(here)
        self.readline = file.readline

    @property
    def left(self) -> int:
        return self._end - self._file.tell()

    def read(self, count: int) -> bytes:
        return self._file.read(count if count < 4096 else min(count, self.left))


class Limits:
    """How much a pickle may still ask for."""

    def __init__(self, size: int):
        self._size = size
        self._instructions = 100_000 + size // 2
        self._made = 500_000 + 2 * size
        self.expanded = 8_000_000 + 64 * size
        """Memory of the result if nothing in it were shared, in bytes."""

    def count_instruction(self) -> None:
        self._instructions -= 1
        if self._instructions < 0:
            raise PickleError(f"it has far more instructions than data in its {self._size} bytes")

    def count_parts(self, parts: Any) -> None:
        """Count what is built from these parts: as much as they hold."""
        if not isinstance(parts, tuple):
            raise PickleError(f"it builds something from a {type(parts).__name__}, not a tuple")
        sized = (bytes, bytearray, str, list, tuple)
        self._made -= sum(len(part) for part in parts if isinstance(part, sized))
        if self._made < 0:
            raise PickleError(f"it makes far more data than its {self._size} bytes hold")


class Unfinished:
    """An array that may not have its numbers yet."""

    array: np.ndarray | None = None


class Finisher:
    """Puts the arrays into their places, in one walk over what was read.

    Parts that are shared are finished once but counted wherever they appear: turning lists into an
    array repeats them.
    """

    def __init__(self, limits: Limits):
        self._limit = limits.expanded
        self._known: dict[int, tuple[Any, int] | None] = {}

    def finish(self, value: Any) -> Any:
        return self._finish(value, 0)[0]

    def _finish(self, value: Any, depth: int) -> tuple[Any, int]:
        """The finished value, and its size in bytes."""
        if isinstance(value, Unfinished):
            array = value.array
            # an array without numbers can have a long axis
            return array, 100 if array is None else max(100, array.nbytes, *array.shape)
        if not isinstance(value, (list, tuple, dict)):
            return value, sys.getsizeof(value)
        known = self._known.get(id(value), ())
        if known is None or depth > DEPTH:
            raise PickleError("it is nested too deeply, or contains itself")
        if known:
            return known
        self._known[id(value)] = None
        parts = value.values() if isinstance(value, dict) else value
        finished = [self._finish(part, depth + 1) for part in parts]
        size = sys.getsizeof(value) + sum(size for _, size in finished)
        if size > self._limit:
            raise PickleError("parts of it are repeated until they fill the memory")
        items = [item for item, _ in finished]
        whole = dict(zip(value, items, strict=True)) if isinstance(value, dict) else items
        result = (tuple(items) if isinstance(value, tuple) else whole, size)
        self._known[id(value)] = result
        return result
