"""Demonstrations in `.npy` files: states alone, and nothing that says how a trajectory ended.

A file holds one trajectory, an array (T+1, S), or N of one length, an array (N, T+1, S). The files
of a folder are read in the order of their names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ilfo.data.npz import DemonstrationError, require_file
from ilfo.data.trajectory import Trajectory, checked, frozen, terminal_flags


@dataclass(frozen=True)
class ArrayFile:
    """One file; its numbers are read later."""

    path: Path
    shape: tuple[int, ...]

    @classmethod
    def open(cls, path: Path) -> "ArrayFile":
        shape = _load(path, mmap_mode="r").shape
        if len(shape) not in (2, 3):
            raise DemonstrationError(
                f"{path} holds an array of shape {shape}, expected (T+1, S), the states of one "
                "trajectory, or (N, T+1, S)"
            )
        return cls(path, shape)

    @property
    def lengths(self) -> list[int]:
        """Transitions of each trajectory."""
        return [self.shape[-2] - 1] * (self.shape[0] if len(self.shape) == 3 else 1)

    def read(self) -> Iterator[np.ndarray]:
        """The states of each trajectory."""
        array = _load(self.path)
        yield from array if array.ndim == 3 else array[None]


def _load(path: Path, **options: Any) -> np.ndarray:
    require_file(path)
    try:
        array = np.load(path, allow_pickle=False, **options)
        if not isinstance(array, np.ndarray):
            raise ValueError("it is an archive, not a single array")
        return array
    # Damaged files raise several unrelated exceptions; arrays of objects are pickles.
    except Exception as error:
        raise DemonstrationError(f"{path} cannot be read as demonstrations: {error}") from error


def open_arrays(path: Path) -> list[ArrayFile]:
    """The files of a folder in alphabetical order, or the single file `path`."""
    paths = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    return [ArrayFile.open(each) for each in paths]


def lengths_in(files: Sequence[ArrayFile]) -> np.ndarray:
    """Transitions of each trajectory, int64 (N,)."""
    return frozen(np.array([length for file in files for length in file.lengths], np.int64))


def endings(path: Path, terminal: Any, count: int) -> np.ndarray:
    """How each of the trajectories ended, which only the user can say."""
    if terminal is None or isinstance(terminal, str):
        raise DemonstrationError(
            f"{path}: an .npy file does not say how its trajectories ended; say --terminal true if "
            "their last states ended the episodes, --terminal false if they were truncated "
            "(terminal=... in Python)"
        )
    try:
        return terminal_flags(terminal, count)
    except ValueError as error:
        raise DemonstrationError(f"{path}: {error}") from error


def read_arrays(
    files: Sequence[ArrayFile], terminal: np.ndarray, clips: bool = False
) -> Iterator[Trajectory]:
    """The trajectories of all files, one file in memory at a time."""
    flags, dim = iter(terminal), None
    for file in files:
        raw = (Trajectory(states, flag) for states, flag in zip(file.read(), flags, strict=False))
        try:
            for trajectory in checked(raw, dim, clips=clips):
                dim = trajectory.states.shape[1]
                yield trajectory
        except ValueError as error:
            raise DemonstrationError(f"{file.path}: {error}") from error


def write_array(file: BinaryIO, trajectories: Sequence[Trajectory]) -> None:
    """Write the states of trajectories of one length."""
    lengths = sorted({len(trajectory.states) for trajectory in trajectories})
    if len(lengths) > 1:
        raise ValueError(
            f"trajectories have from {lengths[0]} to {lengths[-1]} states, but one .npy file holds "
            "trajectories of one length; write a folder of .npy files, or an .npz file"
        )
    np.save(file, np.stack([trajectory.states for trajectory in trajectories]))


def write_folder(folder: Path, trajectories: Sequence[Trajectory]) -> None:
    """Write the states of each trajectory to a file of its own."""
    digits = len(str(len(trajectories) - 1))
    for index, trajectory in enumerate(trajectories):
        np.save(folder / f"{index:0{digits}}.npy", trajectory.states)
