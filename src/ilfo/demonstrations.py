"""Demonstrations: what an expert's states were, whatever its actions may have been.

A trajectory of T transitions holds T+1 states, and says how it stopped: in a terminal state, or
cut off while it could have gone on. The two are never told apart by guessing, because the choice
decides what is learned about endings.

A set of trajectories is read in passes. It lies in memory, or is streamed from shards or from the
user's own iterator; every trajectory is checked before anyone sees it, and the learner cannot tell
the difference.
"""

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

FORMAT = 1
_NEEDED = ("states", "lengths", "terminal")


class DemonstrationError(ValueError):
    """A file does not hold demonstrations that can be used."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of one episode, or of a part of one."""

    states: np.ndarray
    """float32 (T+1, S)."""
    terminal: bool
    """Whether the last state ended the episode; False when the recording was cut off there."""
    actions: np.ndarray | None = None
    """(T, ...), for the methods that ask for actions."""


class Demonstrations:
    """An immutable set of trajectories that can be iterated any number of times.

    Made by `from_arrays`, `load` or `stream`, not by calling the class.
    """

    def __init__(
        self,
        open_: Callable[[], Iterator[Trajectory]],
        *,
        lengths: np.ndarray | None,
        returns: np.ndarray | None,
        metadata: Mapping[str, Any] | None,
    ):
        self._open = open_
        self._known_lengths = lengths
        self._returns = returns
        self._metadata = _to_json({} if metadata is None else metadata)

    @classmethod
    def from_arrays(
        cls,
        states: Sequence[ArrayLike] | np.ndarray,
        *,
        terminal: bool | Sequence[bool] | np.ndarray,
        actions: Sequence[ArrayLike] | np.ndarray | None = None,
        returns: Sequence[float] | np.ndarray | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Copies arrays (T_i+1, S), one per trajectory, or one array (N, T+1, S).

        `terminal` is one bool for all trajectories or one for each. `returns` are for reports only,
        and so is `metadata`, a dict that JSON can hold; its "expert_return" and "random_return" are
        what scores are measured by.
        """
        count = len(states)
        flags = _terminal_flags(terminal, count)
        if actions is not None and len(actions) != count:
            raise ValueError(f"actions are given for {len(actions)} of {count} trajectories")
        labels = [None] * count if actions is None else actions
        raw = map(Trajectory, states, flags, labels)
        return cls._in_memory(_checked(raw), _valid_returns(returns, count), metadata)

    @classmethod
    def stream(
        cls,
        open_: Callable[[], Iterable[Trajectory]],
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Reads a set larger than memory; `open_()` starts a fresh pass each time it is called."""
        # The second pass over a shared iterator would silently miss what the first one took.
        if iter(open_()) is iter(open_()):
            raise ValueError(
                "open_ returned the same iterator twice, which can be read only once; "
                "make open_ a function that builds a new one, such as a generator function"
            )
        return cls(lambda: _checked(open_()), lengths=None, returns=None, metadata=metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, actions: bool = False) -> "Demonstrations":
        """Reads an .npz file, or streams a directory of .npz shards one shard at a time.

        Without `actions` the file's actions are not even decoded. Of the shards' metadata, the
        entries remain that all of them share.
        """
        path = Path(path)
        paths = sorted(path.glob("*.npz")) if path.is_dir() else [path]
        if not paths:
            raise DemonstrationError(f"{path} is a directory without .npz shards")
        shards = [_Shard.open(each, actions=actions) for each in paths]
        returns = _joined([shard.returns for shard in shards])
        metadata = _shared([shard.metadata for shard in shards])
        if not path.is_dir():
            return cls._in_memory(_read_shards(shards), returns, metadata)
        lengths = _frozen(np.concatenate([shard.lengths for shard in shards]))
        return cls(
            lambda: _read_shards(shards), lengths=lengths, returns=returns, metadata=metadata
        )

    @classmethod
    def _in_memory(
        cls,
        checked: Iterable[Trajectory],
        returns: np.ndarray | None,
        metadata: Mapping[str, Any] | None,
    ) -> "Demonstrations":
        kept = tuple(checked)
        return cls(lambda: iter(kept), lengths=_lengths(kept), returns=returns, metadata=metadata)

    def __iter__(self) -> Iterator[Trajectory]:
        return self._open()

    def __len__(self) -> int:
        if self._known_lengths is None:
            raise TypeError("a stream has no len() before it is read; count() makes a pass over it")
        return len(self._known_lengths)

    def __bool__(self) -> bool:
        return True  # an empty set cannot be made, and a stream need not be read to know that

    def __repr__(self) -> str:
        if self._known_lengths is None:
            return "Demonstrations(stream)"
        return f"Demonstrations({self.count()} trajectories, {self.states_count} states)"

    def count(self) -> int:
        """The number of trajectories; a stream is read through once to find out."""
        return len(self.lengths)

    @property
    def lengths(self) -> np.ndarray:
        """Transitions per trajectory, int64 (N,); a stream is read through once to find out."""
        if self._known_lengths is None:
            self._known_lengths = _lengths(self)
        return self._known_lengths

    @property
    def states_count(self) -> int:
        return int(self.lengths.sum()) + len(self.lengths)

    @cached_property
    def dim(self) -> int:
        """S, the dimension of a state; a stream is opened for a look at its first trajectory."""
        return int(next(iter(self)).states.shape[1])

    @property
    def metadata(self) -> dict[str, Any]:
        return _from_json(self._metadata)

    @property
    def returns(self) -> np.ndarray | None:
        """float64 (N,), if they were recorded."""
        return self._returns

    @property
    def expert_return(self) -> float | None:
        """The expert's mean return: as the metadata has it, else over these trajectories."""
        recorded = self.metadata.get("expert_return")
        if recorded is not None:
            return float(recorded)
        return None if self.returns is None else float(self.returns.mean())

    @property
    def random_return(self) -> float | None:
        recorded = self.metadata.get("random_return")
        return None if recorded is None else float(recorded)

    def take(self, n: int) -> "Demonstrations":
        """The first n trajectories. A stream that turns out to hold fewer fails when it is read."""
        lengths = self._known_lengths
        if n < 1 or (lengths is not None and n > len(lengths)):
            available = "at least 1" if lengths is None else f"between 1 and {len(lengths)}"
            raise ValueError(f"take({n}): the number of trajectories must be {available}")
        return Demonstrations(
            lambda: _first(self, n),
            lengths=None if lengths is None else lengths[:n],
            returns=None if self.returns is None else self.returns[:n],
            metadata=self.metadata,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one .npz file, whole or not at all, and never over another one.

        The set is gathered in memory for it; save a larger one in parts, as shards.
        """
        path = Path(path)
        _refuse_existing(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = _to_arrays(list(self), self.returns, self._metadata)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "wb") as file:
                np.savez_compressed(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            _refuse_existing(path)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


# Checks. Each says what is wrong; `_checked` adds whose trajectory it was.


def _checked(trajectories: Iterable[Trajectory], dim: int | None = None) -> Iterator[Trajectory]:
    """Passes on valid trajectories of one dimension as frozen float32, and stops at any other."""
    index = -1
    for index, raw in enumerate(trajectories):
        try:
            trajectory = _valid_trajectory(raw)
            found = trajectory.states.shape[1]
            if found != (dim or found):
                raise ValueError(f"states have dimension {found}, but those before it {dim}")
        except ValueError as error:
            raise ValueError(f"trajectory {index}: {error}") from error
        dim = found
        yield trajectory
    if index < 0:
        raise ValueError("there are no trajectories; at least one is needed")


def _valid_trajectory(raw: Trajectory) -> Trajectory:
    if not isinstance(raw, Trajectory):
        raise ValueError(f"is a {type(raw).__name__}; wrap it as Trajectory(states, terminal=...)")
    if not isinstance(raw.terminal, (bool, np.bool_)):
        raise ValueError(f"terminal is {raw.terminal!r}, expected True or False")
    states = _valid_states(np.asarray(raw.states))
    actions = None if raw.actions is None else _valid_actions(raw.actions, len(states) - 1)
    return Trajectory(states, bool(raw.terminal), actions)


def _valid_states(states: np.ndarray) -> np.ndarray:
    if states.ndim != 2:
        raise ValueError(
            f"states have shape {states.shape}, expected (T+1, S); "
            "put a single trajectory in a list, and flatten each state to a vector"
        )
    if states.dtype.kind not in "biuf":
        raise ValueError(f"states have dtype {states.dtype}, expected real numbers")
    if len(states) < 2 or states.shape[1] < 1:
        raise ValueError(f"states have shape {states.shape}, expected two states or more, S >= 1")
    with np.errstate(over="ignore"):  # what overflows is reported below
        single = states.astype(np.float32, copy=states.flags.writeable)
    bad = np.argwhere(~np.isfinite(single))
    if len(bad):
        step, dimension = bad[0]
        raise ValueError(
            f"the state at step {step}, dimension {dimension} is {states[step, dimension]}, which "
            "is not a finite float32 number; drop the trajectory or repair its recording"
        )
    return _frozen(single)


def _valid_actions(actions: np.ndarray, transitions: int) -> np.ndarray:
    """Checks the length alone: what actions mean concerns only the methods that use them."""
    actions = np.asarray(actions)
    found = len(actions) if actions.ndim else 0
    if found != transitions:
        raise ValueError(f"has {found} actions, expected {transitions}, one between two states")
    return _frozen(actions.copy() if actions.flags.writeable else actions)


def _terminal_flags(terminal: bool | Sequence[bool] | np.ndarray, count: int) -> np.ndarray:
    flags = np.asarray(terminal)
    is_bool = flags.dtype == np.bool_ or flags.size == 0
    if not is_bool or flags.shape not in ((), (count,)):
        raise ValueError(
            f"terminal has dtype {flags.dtype} and shape {flags.shape}, expected one bool, or one "
            f"for each of {count} trajectories: True where the last state ended the episode"
        )
    return np.broadcast_to(flags, (count,))


def _valid_returns(returns: Any, count: int) -> np.ndarray | None:
    if returns is None:
        return None
    values = np.array(returns)
    if values.shape != (count,) or values.dtype.kind not in "biuf":
        raise ValueError(
            f"returns have dtype {values.dtype} and shape {values.shape}, "
            f"expected one number for each of {count} trajectories"
        )
    if not np.isfinite(values).all():
        index = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"trajectory {index}: its return is {values[index]}, expected a number")
    return _frozen(values.astype(np.float64))


def _to_json(metadata: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(metadata), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be a dict that JSON can hold: {error}") from error


def _lengths(trajectories: Iterable[Trajectory]) -> np.ndarray:
    return _frozen(np.array([len(each.states) - 1 for each in trajectories], dtype=np.int64))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _first(trajectories: Iterable[Trajectory], n: int) -> Iterator[Trajectory]:
    found = 0
    for trajectory in itertools.islice(trajectories, n):
        found += 1
        yield trajectory
    if found < n:
        raise ValueError(f"take({n}): the stream holds only {found} trajectories")


# The file: all states in one array, cut apart by `lengths`.


def _to_arrays(
    trajectories: list[Trajectory], returns: np.ndarray | None, metadata: str
) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "format": np.int64(FORMAT),
        "states": np.concatenate([each.states for each in trajectories]),
        "lengths": _lengths(trajectories),
        "terminal": np.array([each.terminal for each in trajectories]),
        "metadata": np.array(metadata),
    }
    actions = [each.actions for each in trajectories if each.actions is not None]
    if actions:
        arrays["actions"] = _joined_actions(actions, len(trajectories))
    if returns is not None:
        arrays["returns"] = returns
    return arrays


def _joined_actions(actions: list[np.ndarray], count: int) -> np.ndarray:
    kinds = {each.shape[1:] for each in actions}
    if len(actions) != count or len(kinds) > 1 or any(each.dtype.hasobject for each in actions):
        raise ValueError(
            f"cannot save actions of {len(actions)} of {count} trajectories with shapes {kinds}: "
            "a file takes plain arrays of one shape from all trajectories, or none"
        )
    return np.concatenate(actions)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another name, or remove it first")


@dataclass(frozen=True)
class _Shard:
    """What a file says about its trajectories, without their states."""

    path: Path
    has_actions: bool
    lengths: np.ndarray
    terminal: np.ndarray
    returns: np.ndarray | None
    metadata: dict[str, Any]

    @classmethod
    def open(cls, path: Path, *, actions: bool) -> "_Shard":
        small = ("lengths", "terminal", "returns", "metadata", "format")
        arrays = _decode(path, small, needed=(*_NEEDED, "actions") if actions else _NEEDED)
        try:
            _check_format(arrays.get("format"))
            lengths = _valid_lengths(arrays["lengths"])
            terminal = _terminal_flags(arrays["terminal"], len(lengths))
            returns = _valid_returns(arrays.get("returns"), len(lengths))
            metadata = _from_json(str(arrays.get("metadata", "{}")))
            _to_json(metadata)  # what can be read may still hold NaN
        except ValueError as error:
            raise DemonstrationError(f"{path}: {error}") from error
        return cls(path, actions, lengths, terminal, returns, metadata)

    def read(self, dim: int | None) -> list[Trajectory]:
        wanted = ("states", "actions") if self.has_actions else ("states",)
        arrays = _decode(self.path, wanted, needed=wanted)
        try:
            states = _cut(arrays["states"], self.lengths + 1, "states")
            labels: list[Any] = [None] * len(states)
            if self.has_actions:
                labels = _cut(arrays["actions"], self.lengths, "actions")
            return list(_checked(map(Trajectory, states, self.terminal, labels), dim))
        except ValueError as error:
            raise DemonstrationError(f"{self.path}: {error}") from error


def _read_shards(shards: list[_Shard]) -> Iterator[Trajectory]:
    dim = None
    for shard in shards:
        for trajectory in shard.read(dim):
            dim = trajectory.states.shape[1]
            yield trajectory


def _decode(
    path: Path, wanted: tuple[str, ...], *, needed: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Decodes the wanted members and no others, after a look that the needed ones are listed."""
    if not path.exists():
        raise FileNotFoundError(
            f"there are no demonstrations at {path}; expected an .npz file or a directory of them"
        )
    with open(path, "rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array, not an .npz archive")
            missing = [name for name in needed if name not in archive.files]
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
    return _frozen(array)


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


def _from_json(text: str) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"metadata is not JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise ValueError(f"metadata is a {type(metadata).__name__}, expected a dict")
    return metadata


def _cut(array: np.ndarray, lengths: np.ndarray, name: str) -> list[np.ndarray]:
    expected, found = sum(lengths.tolist()), len(array) if array.ndim else 0
    if found != expected:
        raise ValueError(f"lengths ask for {expected} {name}, the file holds {found}")
    return np.split(array, np.cumsum(lengths)[:-1])


def _joined(parts: list[np.ndarray | None]) -> np.ndarray | None:
    present = [part for part in parts if part is not None]
    return _frozen(np.concatenate(present)) if len(present) == len(parts) else None


def _shared(cards: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        name: value
        for name, value in cards[0].items()
        if all(name in card and card[name] == value for card in cards)
    }
