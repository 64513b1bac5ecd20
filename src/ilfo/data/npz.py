"""Demonstrations on disk: one `.npz` file, or a directory of them, its shards.

All states of a file lie in one array, cut apart by `lengths`; for N trajectories it holds

    states     float32 (sum of T_i+1, S)
    lengths    int64 (N,), the transitions T_i of each
    terminal   bool (N,)
    actions    (sum of T_i, ...), optional
    returns    float64 (N,), optional
    metadata   a dict as JSON, optional
    format     integer, FORMAT, optional
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.data.trajectory import (
    Trajectory,
    checked,
    frozen,
    lengths_of,
    terminal_flags,
    valid_returns,
)
from ilfo.storage.atomic import atomic, require_new

FORMAT = 1
PICKLES = (".pkl", ".pickle", ".pt", ".pth")
_NEEDED = ("states", "lengths", "terminal")
_CONVERT = (
    "where that is installed, and if you trust the file, convert it by "
    "imitation.data.serialize.save(FOLDER, imitation.data.serialize.load(FILE)), and load FOLDER"
)


class DemonstrationError(ValueError):
    """A file does not hold demonstrations that can be used."""


class PartlyWithoutActions(DemonstrationError):
    """Actions were asked for, and only some of the files have them."""


def write(
    path: Path, trajectories: Iterable[Trajectory], returns: np.ndarray | None, metadata: str
) -> None:
    """Writes one file, whole or not at all, and never over another one."""
    _refuse_existing(path)
    arrays = _to_arrays(list(trajectories), returns, metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as file:
        np.savez_compressed(file, **arrays)
        _refuse_existing(path)  # again: another process may have been quicker


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another name, or remove it first")


def _to_arrays(
    trajectories: list[Trajectory], returns: np.ndarray | None, metadata: str
) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "format": np.int64(FORMAT),
        "states": np.concatenate([each.states for each in trajectories]),
        "lengths": lengths_of(trajectories),
        "terminal": np.array([each.terminal for each in trajectories]),
        "metadata": np.array(metadata),
    }
    actions = [each.actions for each in trajectories if each.actions is not None]
    if actions:
        arrays["actions"] = joined_actions(actions, len(trajectories))
    if returns is not None:
        arrays["returns"] = returns
    return arrays


def joined_actions(actions: list[np.ndarray], count: int) -> np.ndarray:
    kinds = {each.shape[1:] for each in actions}
    if len(actions) != count or len(kinds) > 1 or any(each.dtype.hasobject for each in actions):
        raise ValueError(
            f"cannot save actions of {len(actions)} of {count} trajectories with shapes {kinds}: "
            "a file takes plain arrays of one shape from all trajectories, or none"
        )
    return np.concatenate(actions)


@dataclass(frozen=True)
class Shard:
    """What a file says about its trajectories, without their states."""

    path: Path
    has_actions: bool
    lengths: np.ndarray
    terminal: np.ndarray
    returns: np.ndarray | None
    metadata: dict[str, Any]

    @classmethod
    def open(cls, path: Path, *, actions: bool) -> "Shard":
        small = ("lengths", "terminal", "returns", "metadata", "format")
        arrays = _read_members(path, small, needed=(*_NEEDED, "actions") if actions else _NEEDED)
        try:
            _check_format(arrays.get("format"))
            lengths = _valid_lengths(arrays["lengths"])
            terminal = terminal_flags(arrays["terminal"], len(lengths))
            returns = valid_returns(arrays.get("returns"), len(lengths))
            metadata = decode_metadata(str(arrays.get("metadata", "{}")))
            encode_metadata(metadata)  # what can be read may still hold NaN
        except ValueError as error:
            raise DemonstrationError(f"{path}: {error}") from error
        return cls(path, actions, lengths, terminal, returns, metadata)

    def read(self, dim: int | None) -> list[Trajectory]:
        wanted = ("states", "actions") if self.has_actions else ("states",)
        arrays = _read_members(self.path, wanted, needed=wanted)
        try:
            states = _cut(arrays["states"], self.lengths + 1, "states")
            labels: list[Any] = [None] * len(states)
            if self.has_actions:
                labels = _cut(arrays["actions"], self.lengths, "actions")
            return list(checked(map(Trajectory, states, self.terminal, labels), dim))
        except ValueError as error:
            raise DemonstrationError(f"{self.path}: {error}") from error


def check_new(path: Path) -> None:
    """Whether demonstrations can be written there; before any work."""
    if path.suffix.lower() != ".npz":
        raise ValueError(f"{path} must end in .npz")
    require_new(path)


def require_file(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"there are no demonstrations at {path}; expected an .npz, .csv or .parquet file, or "
            "a directory of .npz files"
        )
    if path.suffix.lower() in PICKLES:
        raise DemonstrationError(
            f"{path} is a pickle, and loading one runs code. If it holds a list of episodes of "
            "plain arrays, `ilfo demos convert` reads it safely; if it is of the library "
            f"imitation, then {_CONVERT}"
        )


def open_shards(path: Path, *, actions: bool) -> list[Shard]:
    """The shards of a directory in the order of their names, or the one file that `path` is."""
    paths = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if not paths:
        raise DemonstrationError(f"{path} is a directory without .npz shards")
    try:
        return [Shard.open(each, actions=actions) for each in paths]
    except DemonstrationError:
        if actions:
            _check_all_have_actions(paths)
        raise


def _check_all_have_actions(paths: list[Path]) -> None:
    """An error where some files have them and some do not; a damaged file's own comes first."""
    without = [path for path in paths if not _opens_with_actions(path)]
    if 0 < len(without) < len(paths):
        for path in without:
            Shard.open(path, actions=False)
        raise PartlyWithoutActions(
            "some of the demonstrations hold actions and some do not: "
            f"{', '.join(map(str, without))}; leave these out, or record their actions"
        )


def _opens_with_actions(path: Path) -> bool:
    try:
        Shard.open(path, actions=True)
    except DemonstrationError:
        return False
    return True


def read_shards(shards: list[Shard]) -> Iterator[Trajectory]:
    dim = None
    for shard in shards:
        for trajectory in shard.read(dim):
            dim = trajectory.states.shape[1]
            yield trajectory


def joined_returns(shards: list[Shard]) -> np.ndarray | None:
    """The returns of all trajectories, None where any shard lacks them."""
    present = [shard.returns for shard in shards if shard.returns is not None]
    return frozen(np.concatenate(present)) if len(present) == len(shards) else None


def shared_metadata(shards: list[Shard]) -> dict[str, Any]:
    """The entries that all shards have in common."""
    first, *others = [shard.metadata for shard in shards]
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def encode_metadata(metadata: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(metadata), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be a dict that JSON can hold: {error}") from error


def decode_metadata(text: str) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"metadata is not JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise ValueError(f"metadata is a {type(metadata).__name__}, expected a dict")
    return metadata


def _read_members(
    path: Path, wanted: tuple[str, ...], *, needed: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Decodes the wanted members and no others, after a look that the needed ones are listed."""
    require_file(path)
    with open(path, "rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array, not an .npz archive")
            missing = [name for name in needed if name not in archive.files]
            if missing and {"obs", "acts", "indices"} <= set(archive.files):
                raise ValueError(f"it was saved by an old version of imitation; {_CONVERT}")
            if missing:
                raise ValueError(f"it has no {', '.join(missing)}, only {archive.files}")
            return {name: _member(archive, name) for name in wanted if name in archive.files}
        # Damaged bytes surface as a dozen unrelated exceptions of zipfile, zlib and numpy.
        except Exception as error:
            raise DemonstrationError(f"{path} cannot be read as demonstrations: {error}") from error


def _member(archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} is not an array")
    return frozen(array)


def _check_format(version: np.ndarray | None) -> None:
    # A file made by hand with np.savez need not know about versions.
    if version is not None and (version.shape != () or version != FORMAT):
        raise ValueError(f"format is {version}, this version of ilfo reads {FORMAT}")


def _valid_lengths(lengths: np.ndarray) -> np.ndarray:
    if lengths.ndim != 1 or lengths.dtype.kind != "i" or not len(lengths):
        raise ValueError(
            f"lengths have dtype {lengths.dtype} and shape {lengths.shape}, "
            "expected one integer per trajectory and at least one trajectory"
        )
    if lengths.min() < 1:
        index = int(np.argmin(lengths))
        raise ValueError(f"trajectory {index}: its length is {lengths[index]}, expected 1 or more")
    return lengths.astype(np.int64, copy=False)


def _cut(array: np.ndarray, lengths: np.ndarray, name: str) -> list[np.ndarray]:
    expected, found = sum(lengths.tolist()), len(array) if array.ndim else 0
    if found != expected:
        raise ValueError(f"lengths ask for {expected} {name}, the file holds {found}")
    return np.split(array, np.cumsum(lengths)[:-1])
