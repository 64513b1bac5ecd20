"""The class `Demonstrations`: a set of an expert's trajectories, with or without actions.

The trajectories are held in memory, or streamed from shards or from an iterator of the user's own.
Either way every trajectory is checked when it is read.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import ArrayLike

from ilfo.data import files
from ilfo.data.episodes import read_episodes
from ilfo.data.files import Layout, Place, in_memory
from ilfo.data.imitation import read_objects
from ilfo.data.minari import read_minari, write_minari
from ilfo.data.npz import DemonstrationError, decode_metadata, encode_metadata
from ilfo.data.statements import (
    CLIPS,
    EVERY,
    EXPERT_RETURN,
    NAMES,
    OBSERVED,
    RANDOM_RETURN,
    SECONDS,
    are_clips,
    check_statements,
    valid_dimensions,
    valid_names,
    valid_rate,
    valid_return,
    valid_seconds,
)
from ilfo.data.table import Table, read_table
from ilfo.data.trajectory import Trajectory, checked, lengths_of, terminal_flags, valid_returns

__all__ = ["DemonstrationError", "Demonstrations", "Trajectory"]


class Demonstrations:
    """An immutable set of trajectories that can be iterated any number of times.

    Construct it with `load`, `stream` or one of the `from_...` methods, not by calling the class.
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
        self._metadata = encode_metadata({} if metadata is None else metadata)
        check_statements(self.metadata)
        self.every = valid_rate(self.metadata.get(EVERY, 1))
        """Control steps between two states: 1 at the control rate, 4 if every fourth was kept."""
        self.seconds = valid_seconds(self.metadata.get(SECONDS))
        """Seconds between two states; None if nothing says it."""
        self._observed = valid_dimensions(self.metadata.get(OBSERVED))
        self.clips = are_clips(self.metadata)
        """Whether trajectories may begin anywhere, not at a reset."""
        self._names = valid_names(self.metadata.get(NAMES))

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
        """Demonstrations from arrays in memory, which are copied.

        **Arguments**

        - `states`: a list of arrays (T_i+1, S), one per trajectory, or one array (N, T+1, S).
        - `terminal`: whether trajectories end in a terminal state rather than being truncated;
          one bool for all trajectories or one for each.
        - `actions`: a list of arrays (T_i, ...), for methods that need actions.
        - `returns`: return of each trajectory, for reports only.
        - `metadata`: a dict that JSON can store. Scores are computed from its entries
          "expert_return" and "random_return". If states are not one control step apart,
          "states_every" says how many, or "states_seconds" how much time lies between them; if
          they hold a part of the state, "observed" lists its
          dimensions. "names" lists the names of the dimensions. "clips" is true if trajectories
          begin anywhere, not at a reset; then some may have a single state.
        """
        if not isinstance(states, (Sequence, np.ndarray)):
            raise ValueError(
                f"states is a {type(states).__name__}, expected a list of arrays (T+1, S)"
            )
        count = len(states)
        flags = terminal_flags(terminal, count)
        if actions is not None and len(actions) != count:
            raise ValueError(f"actions are given for {len(actions)} of {count} trajectories")
        labels = [None] * count if actions is None else actions
        raw = map(Trajectory, states, flags, labels)
        clips = are_clips(metadata or {})
        return cls._in_memory(checked(raw, clips=clips), valid_returns(returns, count), metadata)

    @classmethod
    def from_table(
        cls,
        table: Table,
        *,
        states: Sequence[str] | None = None,
        terminal: bool | str | Sequence[bool] | np.ndarray | None = None,
        episode: str | None = None,
        clips: bool = False,
        actions: bool = False,
        metadata: Mapping[str, Any] | None = None,
        large: bool = False,
    ) -> "Demonstrations":
        """Demonstrations from a .csv or .parquet file or a dict of columns, with one row per state.

        The column `episode`, or the one that the argument `episode` names, identifies the
        trajectory of a row; without it the table is one trajectory. The column `terminal` is true
        in the last row of an episode that ended in a terminal state; the argument `terminal` names
        another column, or says it of all episodes. The columns `step`, `reward` and `action...`
        are optional (`ilfo.data.table` describes them). The columns that `states` lists, by
        default all others, are the dimensions of the state. The default metadata is their names,
        and what `save` wrote into a .parquet file. With `clips` episodes may begin anywhere, and
        have a single row. `large` is explained at `load`.
        """
        layout = Layout(states, terminal, episode, clips or are_clips(metadata or {}))
        trajectories, returns, stored = read_table(
            table, **vars(layout), actions=actions, large=large
        )
        given = stored if metadata is None else dict(metadata) | ({CLIPS: True} if clips else {})
        return cls._in_memory(trajectories, returns, given)

    @classmethod
    def from_minari(
        cls,
        dataset: Any,
        *,
        actions: bool = False,
        metadata: Mapping[str, Any] | None = None,
        large: bool = False,
    ) -> "Demonstrations":
        """Demonstrations from a Minari dataset or its id; observations must be vectors.

        The default metadata is that stored by `to_minari`, or else the id of the dataset.
        `large` is explained at `load`.
        """
        trajectories, returns, stored = read_minari(dataset, actions=actions, large=large)
        return cls._in_memory(trajectories, returns, stored if metadata is None else metadata)

    @classmethod
    def from_trajectories(
        cls,
        objects: Iterable[Any],
        *,
        actions: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Demonstrations from trajectory objects of the library `imitation`, or similar objects.

        Each has `obs` (T+1, S) and `terminal`. `acts` is only read if `actions` is true. The sum
        of `rews`, if present, is the return.
        """
        trajectories, returns = read_objects(objects, actions=actions)
        return cls._in_memory(trajectories, returns, metadata)

    @classmethod
    def from_episodes(
        cls,
        path: str | os.PathLike[str],
        *,
        horizon: int,
        terminal: bool | None = None,
        actions: bool = False,
        clips: bool = False,
        metadata: Mapping[str, Any] | None = None,
        large: bool = False,
    ) -> "Demonstrations":
        """Demonstrations from a list of episodes saved by `torch.save` or `pickle.dump`.

        The file is parsed without unpickling it, so no code in it runs; `ilfo.data.episodes`
        describes its layout. An episode that is done before `horizon` steps counts as terminated,
        one that is done at the horizon as truncated. If the file has no dones, `terminal` says
        whether the episodes shorter than the horizon are terminated. With `clips` episodes may
        begin anywhere, and have a single state. `large` is explained at `load`.
        """
        clips = clips or are_clips(metadata or {})
        trajectories, returns = read_episodes(
            Path(path),
            horizon=horizon,
            terminal=terminal,
            actions=actions,
            clips=clips,
            large=large,
        )
        stated = {CLIPS: True} if clips else {}
        return cls._in_memory(trajectories, returns, {**(metadata or {}), **stated} or None)

    @classmethod
    def stream(
        cls,
        open_: Callable[[], Iterable[Trajectory]],
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Demonstrations that need not fit in memory.

        `open_()` is called once per pass and must return a new iterator over the trajectories.
        """
        # A second pass over a shared iterator would silently miss what the first one consumed.
        if iter(open_()) is iter(open_()):
            raise ValueError(
                "open_ returned the same iterator twice, but an iterator can be read only once; "
                "make open_ a function that returns a new one, such as a generator function"
            )
        clips = are_clips(metadata or {})
        return cls(
            lambda: checked(open_(), clips=clips), lengths=None, returns=None, metadata=metadata
        )

    @classmethod
    def load(
        cls,
        path: Place,
        *,
        states: Sequence[str] | None = None,
        terminal: bool | str | Sequence[bool] | np.ndarray | None = None,
        episode: str | None = None,
        clips: bool = False,
        actions: bool = False,
        large: bool = False,
    ) -> "Demonstrations":
        """Demonstrations from a file or folder; the format follows from the name and content.

        - An .npz file is read into memory, and a folder of .npz files is streamed one file at a
          time, keeping the metadata that all its files share.
        - An .npy file holds the states of one trajectory (T+1, S), or of several (N, T+1, S);
          `terminal` says how they ended. A folder of .npy files is streamed.
        - A .csv or .parquet file, or a folder of them, is read as by `from_table`, with its
          arguments `states`, `terminal` and `episode`.
        - A folder or .parquet file saved by the library `imitation` is read as by
          `from_trajectories`.
        - `minari:ID` stands for a Minari dataset, as for `from_minari`.

        With `clips` trajectories begin anywhere, not at a reset; then some may have a single state.
        Unless `actions` is true, the actions in a file are not decoded. A compressed file that
        unpacks to more than 100 times its size and 64 MiB is refused, unless `large` is true.
        """
        open_, lengths, returns, metadata = files.read(
            path, Layout(states, terminal, episode, clips), actions=actions, large=large
        )
        made = cls(open_, lengths=lengths, returns=returns, metadata=metadata)
        try:
            made._check_rows()
        except DemonstrationError:
            raise
        except ValueError as error:
            raise DemonstrationError(f"{path}: {error}") from error
        return made

    @classmethod
    def _in_memory(
        cls,
        trajectories: Iterable[Trajectory],
        returns: np.ndarray | None,
        metadata: Mapping[str, Any] | None,
    ) -> "Demonstrations":
        open_, lengths, *_ = in_memory(trajectories, returns, metadata)
        made = cls(open_, lengths=lengths, returns=returns, metadata=metadata)
        made._check_rows()
        return made

    def _check_rows(self) -> None:
        """Raise ValueError if the metadata contradict the number of dimensions; a stream without
        such statements is not read."""
        _ = self.names, self.observed

    def __iter__(self) -> Iterator[Trajectory]:
        return self._open()

    def __len__(self) -> int:
        if self._known_lengths is None:
            raise TypeError("a stream has no len() before it was read; use count(), which reads it")
        return len(self._known_lengths)

    def __bool__(self) -> bool:
        return True  # there are no empty sets, and bool() must not read a stream

    def __repr__(self) -> str:
        if self._known_lengths is None:
            return "Demonstrations(stream)"
        return f"Demonstrations({self.count()} trajectories, {self.states_count} states)"

    def count(self) -> int:
        """Number of trajectories; reads a stream once."""
        return len(self.lengths)

    @property
    def lengths(self) -> np.ndarray:
        """Transitions per trajectory, int64 (N,); reads a stream once."""
        if self._known_lengths is None:
            self._known_lengths = lengths_of(self)
        return self._known_lengths

    @property
    def states_count(self) -> int:
        """Number of states in all trajectories; reads a stream once."""
        return int(self.lengths.sum()) + len(self.lengths)

    @cached_property
    def dim(self) -> int:
        """Dimension S of a state; reads the first trajectory of a stream."""
        return int(next(iter(self)).states.shape[1])

    @cached_property
    def has_actions(self) -> bool:
        """Whether the first trajectory has actions; reads that trajectory of a stream."""
        return next(iter(self)).actions is not None

    @property
    def observed(self) -> tuple[int, ...] | None:
        """Numbers of the state's dimensions that a row holds; None for all of them."""
        if self._observed is not None and len(self._observed) != self.dim:
            raise ValueError(
                f"the metadata say that states hold {len(self._observed)} dimensions of the whole "
                f"state ({OBSERVED}: {list(self._observed)}), but they have {self.dim} numbers"
            )
        return self._observed

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the dimensions that a row holds; None if they have none."""
        if self._names is not None and len(self._names) != self.dim:
            raise ValueError(
                f"the metadata name {len(self._names)} dimensions, {list(self._names)}, but states "
                f"have {self.dim}"
            )
        return self._names

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of the metadata."""
        return decode_metadata(self._metadata)

    @property
    def returns(self) -> np.ndarray | None:
        """Return of each trajectory, float64 (N,), if recorded."""
        return self._returns

    @property
    def expert_return(self) -> float | None:
        """The expert's mean return: from the metadata, or else the mean of `returns`."""
        recorded = valid_return(EXPERT_RETURN, self.metadata.get(EXPERT_RETURN))
        if recorded is not None:
            return recorded
        return None if self.returns is None else float(self.returns.mean())

    @property
    def random_return(self) -> float | None:
        """Mean return of a random policy, from the metadata."""
        return valid_return(RANDOM_RETURN, self.metadata.get(RANDOM_RETURN))

    def take(self, n: int) -> "Demonstrations":
        """The first n trajectories. If a stream has fewer, reading it raises an error."""
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

    def recorded_every(self, steps: int) -> "Demonstrations":
        """The same, with the statement that states are this many control steps apart."""
        if EVERY in self.metadata and self.every != steps:
            raise ValueError(
                f"the demonstrations say themselves that their states are {self.every} control "
                f"steps apart, not {steps}; leave the number out"
            )
        return self._stating({EVERY: steps})

    def holding(self, dimensions: Sequence[int]) -> "Demonstrations":
        """The same, with the statement that rows hold these dimensions of the state."""
        stated = tuple(dimensions)
        if any(isinstance(dimension, str) for dimension in stated):
            raise ValueError(
                f"dimensions are {dimensions!r}, but must be numbers; "
                "ilfo.environments.observing.dimensions finds those of names"
            )
        if self.observed not in (None, stated):
            raise ValueError(
                f"the demonstrations say themselves that they hold the dimensions "
                f"{list(self.observed or ())} of the state, not {list(stated)}; leave them out"
            )
        if len(stated) != self.dim:
            raise ValueError(
                f"rows of the demonstrations have {self.dim} numbers, but {len(stated)} dimensions "
                "are named; `ilfo demos select` keeps some of them"
            )
        return self._stating({OBSERVED: list(stated)})

    def as_clips(self) -> "Demonstrations":
        """The same, with the statement that trajectories begin anywhere, not at a reset."""
        return self._stating({CLIPS: True})

    def with_expert_return(self, value: float) -> "Demonstrations":
        """The same, with the statement that this is the expert's mean return."""
        known = self.expert_return
        if known is not None and known != value:
            raise ValueError(
                f"the demonstrations say themselves that the expert's mean return is {known:g}, "
                f"not {value:g}; leave the number out"
            )
        return self._stating({EXPERT_RETURN: valid_return(EXPERT_RETURN, value)})

    def _stating(self, statement: Mapping[str, Any]) -> "Demonstrations":
        return Demonstrations(
            self._open,
            lengths=self._known_lengths,
            returns=self._returns,
            metadata=self.metadata | dict(statement),
        )

    def states_only(self) -> "Demonstrations":
        """The same trajectories without actions and returns.

        The expert's mean return is kept in the metadata, because scores are computed from it.
        """
        known = {} if self.expert_return is None else {"expert_return": self.expert_return}
        return Demonstrations(
            lambda: (Trajectory(trajectory.states, trajectory.terminal) for trajectory in self),
            lengths=self._known_lengths,
            returns=None,
            metadata=self.metadata | known,
        )

    def save(self, path: Place) -> None:
        """Write a new file atomically; raises FileExistsError if the file exists.

        The end of the name says how: .npz keeps everything, .parquet too, .csv all but the
        metadata, .npy states of trajectories of one length, and a name without an ending stands
        for a folder with one .npy file per trajectory. `minari:ID` makes a Minari dataset as
        `to_minari` does. `left_out_of` says what is not kept.

        All trajectories are held in memory for it. Save a larger set in parts, as shards.
        """
        files.save(path, self, self._returns, self._metadata)

    def left_out_of(self, path: Place) -> list[str]:
        """What a file of this name has no place for."""
        returns = self._returns is not None
        return files.left_out(
            path, actions=self.has_actions, returns=returns, metadata=self._metadata
        )

    def to_minari(
        self,
        dataset_id: str,
        *,
        env: Any = None,
        action_space: Space | None = None,
        **details: Any,
    ) -> None:
        """Create a local Minari dataset that `from_minari` can read back.

        `env` is an environment or its id; Minari stores its spec. The action space is
        `action_space`, else that of `env`, else an unbounded Box of the actions' shape. The return
        of a trajectory is stored as the reward of its last step. `details`, such as `author`, are
        passed on to Minari.
        """
        write_minari(
            dataset_id,
            self,
            self._returns,
            self._metadata,
            env=env,
            action_space=action_space,
            details=details,
        )


def _first(trajectories: Iterable[Trajectory], n: int) -> Iterator[Trajectory]:
    count = 0
    for trajectory in itertools.islice(trajectories, n):
        count += 1
        yield trajectory
    if count < n:
        raise ValueError(f"take({n}): the stream has only {count} trajectories")
