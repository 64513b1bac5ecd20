"""Demonstrations on disk: one `.npz` file, or a directory of such files, the shards.

All states of a file are in one array, split by `lengths`. A file of N trajectories holds

    states     float32 (sum of T_i+1, S)
    lengths    int64 (N,), the transitions T_i of each trajectory
    terminal   bool (N,)
    actions    (sum of T_i, ...), optional
    returns    float64 (N,), optional
    metadata   a dict as JSON, optional
    format     integer, FORMAT, optional
"""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ilfo.common.printable import brief
from ilfo.data.statements import CLIPS, EVERY, NAMES, OBSERVED, SECONDS, are_clips, check_statements
from ilfo.data.trajectory import (
    Trajectory,
    checked,
    frozen,
    lengths_of,
    terminal_flags,
    valid_returns,
)
from ilfo.data.unpacking import UnpackedSizeError, check_unpacked, grows_beyond_measure
from ilfo.storage.atomic import require_new

FORMAT = 1
MINARI = "minari:"
"""What the id of a Minari dataset begins with where a file could stand, too."""
PICKLES = (".pkl", ".pickle", ".pt", ".pth")
_NEEDED = ("states", "lengths", "terminal")
_MEMBERS = (*_NEEDED, "actions", "returns", "metadata", "format")
_CONVERT = (
    "where that library is installed, and if you trust the file, convert it with "
    "imitation.data.serialize.save(FOLDER, imitation.data.serialize.load(FILE)), and load FOLDER"
)


class DemonstrationError(ValueError):
    """A file does not hold usable demonstrations."""


class PartlyWithoutActions(DemonstrationError):
    """Actions are needed, but only some of the files have them."""


def write(
    file: BinaryIO, trajectories: list[Trajectory], returns: np.ndarray | None, metadata: str
) -> None:
    """Write the content of one file."""
    arrays = _to_arrays(trajectories, returns, metadata)
    np.savez_compressed(file, **arrays)
    if grows_beyond_measure(sum(np.asarray(a).nbytes for a in arrays.values()), file.tell()):
        file.seek(0)
        file.truncate()
        np.savez(file, **arrays)  # not compressed, so that it can be read without being asked


def _to_arrays(
    trajectories: list[Trajectory], returns: np.ndarray | None, metadata: str
) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "format": np.int64(FORMAT),
        "states": np.concatenate([trajectory.states for trajectory in trajectories]),
        "lengths": lengths_of(trajectories),
        "terminal": np.array([trajectory.terminal for trajectory in trajectories]),
        "metadata": np.array(metadata),
    }
    actions = [trajectory.actions for trajectory in trajectories if trajectory.actions is not None]
    if actions:
        arrays["actions"] = joined_actions(actions, len(trajectories))
    if returns is not None:
        arrays["returns"] = returns
    return arrays


def joined_actions(actions: list[np.ndarray], count: int) -> np.ndarray:
    """All actions in one array; `count` is the number of trajectories, which must all have some."""
    shapes = {array.shape[1:] for array in actions}
    if len(actions) != count or len(shapes) > 1 or any(array.dtype.hasobject for array in actions):
        raise ValueError(
            f"cannot save actions of {len(actions)} of {count} trajectories with shapes {shapes}: "
            "either all trajectories have plain arrays of one shape per action, or none has actions"
        )
    return np.concatenate(actions)


@dataclass(frozen=True)
class Shard:
    """One file of demonstrations; states and actions are read later."""

    path: Path
    has_actions: bool
    lengths: np.ndarray
    terminal: np.ndarray
    returns: np.ndarray | None
    metadata: dict[str, Any]

    @classmethod
    def open(
        cls, path: Path, *, clips: bool = False, actions: bool, large: bool = False
    ) -> "Shard":
        """`clips` says that trajectories are clips; `large` allows that the file unpacks to far
        more than its size."""
        if not large:
            _check_unpacked(path)
        small = ("lengths", "terminal", "returns", "metadata", "format")
        arrays = _read_members(path, small, needed=(*_NEEDED, "actions") if actions else _NEEDED)
        try:
            _check_format(arrays.get("format"))
            metadata = decode_metadata(str(arrays.get("metadata", "{}")))
            encode_metadata(metadata)  # json.loads accepts NaN, json.dumps is strict here
            check_statements(metadata)
            metadata |= {CLIPS: True} if clips else {}
            lengths = _valid_lengths(arrays["lengths"], 0 if are_clips(metadata) else 1)
            terminal = terminal_flags(arrays["terminal"], len(lengths))
            returns = valid_returns(arrays.get("returns"), len(lengths))
        except ValueError as error:
            raise DemonstrationError(f"{path}: {brief(error)}") from error
        return cls(path, actions, lengths, terminal, returns, metadata)

    def read(self, dim: int | None) -> list[Trajectory]:
        """The trajectories; `dim` is the expected state dimension, if known."""
        wanted = ("states", "actions") if self.has_actions else ("states",)
        arrays = _read_members(self.path, wanted, needed=wanted)
        try:
            states = _split(arrays["states"], self.lengths + 1, "states")
            labels: list[Any] = [None] * len(states)
            if self.has_actions:
                labels = _split(arrays["actions"], self.lengths, "actions")
            raw = map(Trajectory, states, self.terminal, labels)
            return list(checked(raw, dim, clips=are_clips(self.metadata)))
        except ValueError as error:
            raise DemonstrationError(f"{self.path}: {brief(error)}") from error


@contextmanager
def naming_large(path: Path | str) -> Iterator[None]:
    """Let the error of a file that unpacks to far too much say what to do."""
    try:
        yield
    except UnpackedSizeError as error:
        raise DemonstrationError(
            f"{path}: {error}; if you trust it, pass large=True to Demonstrations.load, or write "
            f"it as a plain file once: ilfo demos convert {path} --large --out FILE.npz"
        ) from error


@contextmanager
def naming_memory(path: Path) -> Iterator[None]:
    """Let the error of a file that the memory is too small for say what to do."""
    try:
        yield
    except MemoryError as error:
        raise DemonstrationError(
            f"{path}: there is not enough memory to read it; split it into several files, convert "
            "them one by one with `ilfo demos convert`, and put them into one folder"
        ) from error


def check_new(path: Path) -> None:
    """Raise an error if demonstrations cannot be written to `path`; call it before long work."""
    if path.suffix.lower() != ".npz":
        raise ValueError(f"{path} must end in .npz")
    require_new(path)


def require_file(path: Path) -> None:
    """Raise an error if `path` does not exist or is a pickle."""
    if not path.exists():
        raise FileNotFoundError(
            f"there are no demonstrations at {path}; expected an .npz, .npy, .csv or .parquet "
            f"file, a folder of such files, or {MINARI}ID for a Minari dataset"
        )
    if path.suffix.lower() in PICKLES:
        raise DemonstrationError(
            f"{path} is a pickle, and loading one runs code. If it holds a list of episodes of "
            "plain arrays, `ilfo demos convert` reads it safely; if it was saved by the library "
            f"imitation, then {_CONVERT}"
        )


def open_shards(
    path: Path, *, clips: bool = False, actions: bool, large: bool = False
) -> list[Shard]:
    """The shards of a directory in alphabetical order, or the single file `path`."""
    paths = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    try:
        return [Shard.open(shard, clips=clips, actions=actions, large=large) for shard in paths]
    except DemonstrationError:
        if actions:
            _check_all_have_actions(paths, large)
        raise


def _check_all_have_actions(paths: list[Path], large: bool) -> None:
    """Raise an error if only some of the files have actions, or the error of a damaged file."""
    without = [path for path in paths if not _opens_with_actions(path, large)]
    if 0 < len(without) < len(paths):
        for path in without:
            Shard.open(path, actions=False, large=large)
        raise PartlyWithoutActions(
            "only some of the demonstrations have actions; files without: "
            f"{', '.join(map(str, without))}; leave these out, or record their actions"
        )


def _opens_with_actions(path: Path, large: bool) -> bool:
    try:
        Shard.open(path, actions=True, large=large)
    except DemonstrationError:
        return False
    return True


def read_shards(shards: list[Shard]) -> Iterator[Trajectory]:
    """The trajectories of all shards, one shard in memory at a time."""
    dim = None
    for shard in shards:
        for trajectory in shard.read(dim):
            dim = trajectory.states.shape[1]
            yield trajectory


def joined_returns(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The returns of all trajectories of several files; None if any file has none."""
    present = [returns for returns in parts if returns is not None]
    return frozen(np.concatenate(present)) if len(present) == len(parts) else None


def shared_metadata(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The entries that all files have in common; they must agree about rate and dimensions."""
    first, *others = parts
    rates = {metadata.get(EVERY, 1) for metadata in parts}
    if len(rates) > 1:
        raise DemonstrationError(
            f"the files of the folder have states that are {sorted(rates)} control steps apart; "
            "put each rate into a folder of its own"
        )
    if len({metadata.get(SECONDS) for metadata in parts}) > 1:
        raise DemonstrationError(
            "the files of the folder say different times between two states; put each rate into a "
            "folder of its own"
        )
    if len({are_clips(metadata) for metadata in parts}) > 1:
        raise DemonstrationError(
            f"some files of the folder hold clips ({CLIPS}), others whole episodes; put each kind "
            "into a folder of its own"
        )
    for entry in (OBSERVED, NAMES):
        if any(other.get(entry) != first.get(entry) for other in others):
            raise DemonstrationError(
                "the files of the folder hold different dimensions of the state; put each kind "
                "into a folder of its own"
            )
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def encode_metadata(metadata: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(metadata), sort_keys=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be a dict that JSON can store: {error}") from error


def _plain(value: Any) -> Any:
    """A single number of NumPy as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


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
    """Decode the wanted members and no others; the needed ones must be in the file."""
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
                raise ValueError(
                    f"it has no {', '.join(missing)}, only {', '.join(archive.files)}; "
                    "Demonstrations.from_arrays(states, terminal=...).save(FILE) writes such a "
                    "file, and a single array of states can be an .npy file"
                )
            unknown = [name for name in archive.files if name not in _MEMBERS]
            if unknown:
                # a damaged name would make the returns or the metadata disappear
                raise ValueError(
                    f"it holds {', '.join(unknown)}, expected nothing but {', '.join(_MEMBERS)}"
                )
            return {name: _member(archive, name) for name in wanted if name in archive.files}
        # Damaged files raise a dozen unrelated exceptions of zipfile, zlib and numpy.
        except Exception as error:
            raise DemonstrationError(
                f"{path} cannot be read as demonstrations: {brief(error)}"
            ) from error


def _check_unpacked(path: Path) -> None:
    """Raise DemonstrationError if the file would unpack to far more than its size. A file that is
    no archive is reported when it is read."""
    require_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    # Damaged files raise a dozen unrelated exceptions.
    except Exception:
        return
    with naming_large(path):
        check_unpacked(path, members)


def _member(archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} is not an array")
    return frozen(array)


def _check_format(version: np.ndarray | None) -> None:
    # A file made by hand with np.savez may have no version.
    if version is not None and (version.shape != () or version != FORMAT):
        raise ValueError(f"format is {version}, but this version of ilfo reads {FORMAT}")


def _valid_lengths(lengths: np.ndarray, least: int) -> np.ndarray:
    if lengths.ndim != 1 or lengths.dtype.kind != "i" or not len(lengths):
        raise ValueError(
            f"lengths have dtype {lengths.dtype} and shape {lengths.shape}, "
            "expected one integer per trajectory and at least one trajectory"
        )
    if lengths.min() < least:
        index = int(np.argmin(lengths))
        raise ValueError(
            f"trajectory {index}: its length is {lengths[index]}, expected {least} or more"
        )
    return lengths.astype(np.int64, copy=False)


def _split(array: np.ndarray, lengths: np.ndarray, name: str) -> list[np.ndarray]:
    expected, rows = sum(lengths.tolist()), len(array) if array.ndim else 0
    if rows != expected:
        raise ValueError(f"lengths add up to {expected} {name}, but the file holds {rows}")
    return np.split(array, np.cumsum(lengths)[:-1])
