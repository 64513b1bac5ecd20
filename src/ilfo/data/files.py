"""Demonstrations from and to files; the format follows from the name, and for folders from what
is in them."""

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ilfo.data.imitation import is_saved_by_imitation, read_saved
from ilfo.data.minari import read_minari, write_minari
from ilfo.data.npy import endings, lengths_in, open_arrays, read_arrays, write_array, write_folder
from ilfo.data.npz import (
    MINARI,
    DemonstrationError,
    decode_metadata,
    joined_returns,
    open_shards,
    read_shards,
    shared_metadata,
    write,
)
from ilfo.data.statements import CLIPS, NAMES, are_clips
from ilfo.data.table import SUFFIXES, read_table
from ilfo.data.table_writing import write_csv, write_parquet
from ilfo.data.trajectory import Trajectory, checked, frozen, lengths_of
from ilfo.storage.atomic import atomic, require_new

Place = str | os.PathLike[str]
"""A file, a folder, or the id of a Minari dataset after `minari:`."""
KINDS = (".npz", ".npy", *SUFFIXES)
"""Files that a folder of demonstrations may hold, one kind at a time."""


@dataclass(frozen=True)
class Layout:
    """What a file does not say of itself."""

    states: Sequence[str] | None = None
    """Columns of a table that are the dimensions of the state; None for all that are nothing
    else."""
    terminal: bool | str | Sequence[bool] | np.ndarray | None = None
    """How trajectories of a table or an .npy file ended, or the column of the table that says
    it."""
    episode: str | None = None
    """Column of a table that tells episodes apart; None for `episode`, or if it is one episode."""
    clips: bool = False
    """Whether trajectories begin anywhere, not at a reset; then some may have a single state."""

    def check_unused(self, place: Place, *but: str) -> None:
        """Raise an error if something is said that `place` says itself, apart from `but`."""
        given = {"states": self.states, "terminal": self.terminal, "episode": self.episode}
        for name, value in given.items():
            if value is not None and name not in but:
                raise ValueError(
                    f"{name} is given as {value!r}, but {place} is no table, so it cannot be "
                    f"said of it; leave {name} out"
                )

    def stating(self, contents: "Contents") -> "Contents":
        """The same, with the statement that they are clips, if so."""
        if not self.clips:
            return contents
        return contents._replace(metadata={**(contents.metadata or {}), CLIPS: True})


class Contents(NamedTuple):
    """What a file or folder holds; `open` reads the trajectories once more."""

    open: Callable[[], Iterator[Trajectory]]
    lengths: np.ndarray
    returns: np.ndarray | None
    metadata: Mapping[str, Any] | None


def in_memory(
    trajectories: Iterable[Trajectory],
    returns: np.ndarray | None,
    metadata: Mapping[str, Any] | None,
) -> Contents:
    """The trajectories, read at once."""
    kept = tuple(trajectories)
    return Contents(lambda: iter(kept), lengths_of(kept), returns, metadata)


# Reading ---------------------------------------------------------------------------------------


def read(place: Place, layout: Layout, *, actions: bool, large: bool = False) -> Contents:
    """The demonstrations in a file, folder or Minari dataset; folders of arrays are streamed."""
    name = minari_id(place)
    if name is not None:
        layout.check_unused(place)
        return layout.stating(in_memory(*read_minari(name, actions=actions, large=large)))
    path = Path(place)
    if is_saved_by_imitation(path):
        layout.check_unused(path)
        found = in_memory(*read_saved(path, actions=actions, large=large), None)
        return layout.stating(found)
    kind = _kind(path)
    if kind in SUFFIXES:
        return _read_tables(path, layout, actions=actions, large=large)
    if kind == ".npy":
        return layout.stating(_read_npy(path, layout, actions=actions))
    layout.check_unused(path)
    found = _read_npz(path, clips=layout.clips, actions=actions, large=large)
    return layout.stating(found)


def minari_id(place: Place) -> str | None:
    """The id of the Minari dataset that is meant, if any."""
    text = os.fspath(place)
    return text.removeprefix(MINARI) if text.startswith(MINARI) else None


def _kind(path: Path) -> str:
    """The end of a file's name, or that of the files in a folder."""
    if not path.is_dir():
        return path.suffix.lower()
    kinds = {file.suffix.lower() for file in path.iterdir()} & set(KINDS)
    if len(kinds) != 1:
        found = " and ".join(sorted(kinds)) or "none"
        raise DemonstrationError(
            f"{path} is a folder that should hold files of one kind, {', '.join(KINDS)}; found: "
            f"{found}"
        )
    return kinds.pop()


def _read_npz(path: Path, *, clips: bool, actions: bool, large: bool) -> Contents:
    shards = open_shards(path, clips=clips, actions=actions, large=large)
    returns = joined_returns([shard.returns for shard in shards])
    metadata = shared_metadata([shard.metadata for shard in shards])
    if not path.is_dir():
        return in_memory(read_shards(shards), returns, metadata)
    lengths = frozen(np.concatenate([shard.lengths for shard in shards]))
    return Contents(lambda: read_shards(shards), lengths, returns, metadata)


def _read_npy(path: Path, layout: Layout, *, actions: bool) -> Contents:
    layout.check_unused(path, "terminal")
    if actions:
        raise DemonstrationError(f"{path}: .npy files hold states, but actions are needed")
    files = open_arrays(path)
    lengths = lengths_in(files)
    terminal = endings(path, layout.terminal, len(lengths))
    if not path.is_dir():
        return in_memory(read_arrays(files, terminal, layout.clips), None, None)
    return Contents(lambda: read_arrays(files, terminal, layout.clips), lengths, None, None)


def _read_tables(path: Path, layout: Layout, *, actions: bool, large: bool) -> Contents:
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    parts = [read_table(file, **vars(layout), actions=actions, large=large) for file in files]
    trajectories, returns, metadata = zip(*parts, strict=True)
    whole = [trajectory for part in trajectories for trajectory in part]
    try:
        shared = shared_metadata(metadata)
        raw = checked(whole, clips=are_clips(shared))
        return in_memory(raw, joined_returns(returns), shared)
    except ValueError as error:
        raise DemonstrationError(f"{path}: {error}") from error


# Writing ---------------------------------------------------------------------------------------

WRITERS = {
    ".npz": write,
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".npy": lambda file, trajectories, *_: write_array(file, trajectories),
}
"""By the end of a file's name."""


def check_place(place: Place) -> None:
    """Raise an error if demonstrations cannot be written there; call it before long work."""
    if minari_id(place) is None:
        _check_suffix(Path(place))
        require_new(Path(place))


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in (*WRITERS, ""):
        raise ValueError(
            f"{path} must end in one of {', '.join(WRITERS)}, or have no ending for a folder of "
            ".npy files"
        )


def save(
    place: Place, trajectories: Iterable[Trajectory], returns: np.ndarray | None, metadata: str
) -> None:
    """Write a new file, folder or Minari dataset; raises FileExistsError if there is one."""
    name = minari_id(place)
    if name is not None:
        details: dict[str, Any] = {"env": None, "action_space": None, "details": {}}
        write_minari(name, trajectories, returns, metadata, **details)
        return
    path = Path(place)
    _check_suffix(path)
    _refuse_existing(path)
    kept = list(trajectories)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.suffix:
        with _new_folder(path) as folder:
            write_folder(folder, kept)
        return
    with atomic(path) as file:
        WRITERS[path.suffix.lower()](file, kept, returns, metadata)
        _refuse_existing(path)  # again: another process may have written it meanwhile


def left_out(place: Place, *, actions: bool, returns: bool, metadata: str) -> list[str]:
    """What demonstrations hold that a file of this name has no place for."""
    kind = "" if minari_id(place) is not None else Path(place).suffix.lower() or ".npy"
    entries = list(decode_metadata(metadata))
    if kind == ".csv":
        return [entry for entry in entries if entry != NAMES]  # those head its columns
    if kind != ".npy":
        return []
    parts = {"how trajectories ended": True, "actions": actions, "returns": returns}
    return [*(name for name, present in parts.items() if present), *entries]


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another name, or remove it first")


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """A folder that gets its name when the block ends without an exception."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    temporary.mkdir()
    try:
        yield temporary
        _refuse_existing(path)
        temporary.rename(path)
    except BaseException:
        for file in temporary.iterdir():
            file.unlink()
        temporary.rmdir()
        raise
