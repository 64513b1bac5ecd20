"""Demonstrations: what an expert's states were, whatever its actions may have been.

A set of trajectories is read in passes. It lies in memory, or is streamed from shards or from the
user's own iterator; every trajectory is checked before anyone sees it, and the learner cannot tell
the difference.
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

from ilfo.data.episodes import read_episodes
from ilfo.data.imitation import is_saved_by_imitation, read_objects, read_saved
from ilfo.data.minari import read_minari, write_minari
from ilfo.data.npz import (
    DemonstrationError,
    decode_metadata,
    encode_metadata,
    joined_returns,
    open_shards,
    read_shards,
    shared_metadata,
    write,
)
from ilfo.data.table import SUFFIXES, Table, read_table
from ilfo.data.trajectory import (
    Trajectory,
    checked,
    frozen,
    lengths_of,
    terminal_flags,
    valid_returns,
)

__all__ = ["DemonstrationError", "Demonstrations", "Trajectory"]


class Demonstrations:
    """An immutable set of trajectories that can be iterated any number of times.

    Made by `load`, `stream` or one of the methods `from_...`, not by calling the class.
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
        if not isinstance(states, (Sequence, np.ndarray)):
            raise ValueError(
                f"states are a {type(states).__name__}, expected a list of arrays (T+1, S)"
            )
        count = len(states)
        flags = terminal_flags(terminal, count)
        if actions is not None and len(actions) != count:
            raise ValueError(f"actions are given for {len(actions)} of {count} trajectories")
        labels = [None] * count if actions is None else actions
        raw = map(Trajectory, states, flags, labels)
        return cls._in_memory(checked(raw), valid_returns(returns, count), metadata)

    @classmethod
    def from_table(
        cls,
        table: Table,
        *,
        states: Sequence[str] | None = None,
        terminal: bool | Sequence[bool] | np.ndarray | None = None,
        actions: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Reads a .csv or .parquet file, or a dict of columns, with one row per state.

        A column `episode` tells trajectories apart, and `terminal` is true in the last row of one
        that ended there; without that column, say it by the argument. The columns `step`, `reward`
        and those that begin with `action` have their meaning too (`ilfo.data.table`).
        Every other column is a dimension of the state, or those that `states` names.
        """
        trajectories, returns = read_table(table, states=states, terminal=terminal, actions=actions)
        return cls._in_memory(trajectories, returns, metadata)

    @classmethod
    def from_minari(
        cls,
        dataset: Any,
        *,
        actions: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Reads a Minari dataset, given itself or by its id; observations must be vectors.

        By default the metadata is what `to_minari` stored, else the dataset's id.
        """
        trajectories, returns, stored = read_minari(dataset, actions=actions)
        return cls._in_memory(trajectories, returns, stored if metadata is None else metadata)

    @classmethod
    def from_trajectories(
        cls,
        objects: Iterable[Any],
        *,
        actions: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Takes over trajectories of the library `imitation`, or others of that kind.

        Each has `obs` (T+1, S) and `terminal`; `acts` are looked at if `actions` asks for them,
        and the sum of `rews`, if there are any, is the return.
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
        metadata: Mapping[str, Any] | None = None,
    ) -> "Demonstrations":
        """Reads a list of episodes that was saved by `torch.save` or `pickle.dump`, without
        running what the file says (`ilfo.data.episodes` tells how it must look).

        An episode that is done before `horizon` steps ended in its last state; at the horizon only
        its time was over. Where the file does not say which steps are done, `terminal` tells
        whether the episodes that are shorter ended in their last states.
        """
        trajectories, returns = read_episodes(
            Path(path), horizon=horizon, terminal=terminal, actions=actions
        )
        return cls._in_memory(trajectories, returns, metadata)

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
        return cls(lambda: checked(open_()), lengths=None, returns=None, metadata=metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, actions: bool = False) -> "Demonstrations":
        """Reads an .npz file, or streams a directory of .npz shards one shard at a time.

        A .csv or .parquet file is read as by `from_table`, and a folder or .parquet file of the
        library `imitation`'s layout as by `from_trajectories`. Without `actions` the file's actions
        are not even decoded. Of the shards' metadata, the entries remain that all of them share.
        """
        path = Path(path)
        if is_saved_by_imitation(path):
            trajectories, returns = read_saved(path, actions=actions)
            return cls._in_memory(trajectories, returns, None)
        if path.suffix.lower() in SUFFIXES:
            return cls.from_table(path, actions=actions)
        shards = open_shards(path, actions=actions)
        returns, metadata = joined_returns(shards), shared_metadata(shards)
        if not path.is_dir():
            return cls._in_memory(read_shards(shards), returns, metadata)
        lengths = frozen(np.concatenate([shard.lengths for shard in shards]))
        return cls(lambda: read_shards(shards), lengths=lengths, returns=returns, metadata=metadata)

    @classmethod
    def _in_memory(
        cls,
        trajectories: Iterable[Trajectory],
        returns: np.ndarray | None,
        metadata: Mapping[str, Any] | None,
    ) -> "Demonstrations":
        kept = tuple(trajectories)
        return cls(lambda: iter(kept), lengths=lengths_of(kept), returns=returns, metadata=metadata)

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
            self._known_lengths = lengths_of(self)
        return self._known_lengths

    @property
    def states_count(self) -> int:
        return int(self.lengths.sum()) + len(self.lengths)

    @cached_property
    def dim(self) -> int:
        """S, the dimension of a state; a stream is opened for a look at its first trajectory."""
        return int(next(iter(self)).states.shape[1])

    @cached_property
    def has_actions(self) -> bool:
        """Whether the first trajectory has any; a stream is opened for a look at it."""
        return next(iter(self)).actions is not None

    @property
    def metadata(self) -> dict[str, Any]:
        return decode_metadata(self._metadata)

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

    def states_only(self) -> "Demonstrations":
        """The same trajectories without their actions and returns, read as they are asked for.

        The expert's mean return stays in the metadata: scores are reported by it.
        """
        known = {} if self.expert_return is None else {"expert_return": self.expert_return}
        return Demonstrations(
            lambda: (Trajectory(each.states, each.terminal) for each in self),
            lengths=self._known_lengths,
            returns=None,
            metadata=self.metadata | known,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one .npz file, whole or not at all, and never over another one.

        The set is gathered in memory for it; save a larger one in parts, as shards.
        """
        write(Path(path), self, self._returns, self._metadata)

    def to_minari(
        self,
        dataset_id: str,
        *,
        env: Any = None,
        action_space: Space | None = None,
        **details: Any,
    ) -> None:
        """Creates a local Minari dataset, from which `from_minari` reads the same again.

        `env` is an environment or its id, whose spec is stored. The space of the actions is
        `action_space`, else that of `env`, else all arrays of their shape. A trajectory's return
        becomes the reward of its last step. `details`, such as `author`, go to Minari.
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
    found = 0
    for trajectory in itertools.islice(trajectories, n):
        found += 1
        yield trajectory
    if found < n:
        raise ValueError(f"take({n}): the stream holds only {found} trajectories")
