"""Demonstrations from a table: a CSV file, a Parquet file, or columns in memory.

Each row is one state, so an episode of T transitions has T+1 rows. The columns are

    episode    a number or a name; the rows of an episode are consecutive and in order of time;
               without this column the table is one episode
    step       optional, increases by one from row to row; used to detect missing rows
    time       optional, seconds; increases evenly within an episode and tells the rate; a column
               timestamp only has to increase
    terminal   true in the last row of an episode that ended in a terminal state, else false
    action*    optional, the action taken in the row's state; may be empty in the last row
    reward     optional; may be empty in an episode's first or last row; the return is the sum
    others     the dimensions of the state, in the order of the table

Tables in which two episodes could be joined or a step could be missing are rejected, because such
rows would be read as a transition.
"""

import csv
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ilfo.common.printable import brief
from ilfo.data.columns import Column, CsvColumns, MemoryColumns, ParquetColumns
from ilfo.data.npz import (
    DemonstrationError,
    decode_metadata,
    naming_large,
    naming_memory,
    require_file,
)
from ilfo.data.roles import ACTION, LISTED, STAMP, TIME, roles_of
from ilfo.data.statements import CLIPS, NAMES, OBSERVED, SECONDS, are_clips, check_statements
from ilfo.data.trajectory import Trajectory, checked, terminal_flags, valid_returns
from ilfo.data.unpacking import UnpackedSizeError

SUFFIXES = (".csv", ".parquet")
NEARLY = 0.01
"""By how much of it a time between two rows may differ from the usual one."""

Table = str | os.PathLike[str] | Mapping[str, ArrayLike]


Recorded = tuple[list[Trajectory], np.ndarray | None, dict[str, Any]]


def read_table(
    table: Table,
    *,
    states: Sequence[str] | None = None,
    terminal: bool | str | Sequence[bool] | np.ndarray | None = None,
    episode: str | None = None,
    clips: bool = False,
    actions: bool = False,
    large: bool = False,
) -> Recorded:
    """The trajectories, their returns and the metadata; only the needed columns are decoded.

    `states` lists the columns of the state. `terminal` says how episodes ended, or which column
    says it. `episode` is the column that tells episodes apart. `clips` says that episodes may begin
    anywhere, and have a single row.
    """
    options: dict[str, Any] = {"states": states, "terminal": terminal, "episode": episode}
    options["clips"] = clips
    if isinstance(table, Mapping):
        return _read(MemoryColumns(table), **options, actions=actions)
    path = Path(table)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise DemonstrationError(f"{path} ends in {kind!r}, expected one of {', '.join(SUFFIXES)}")
    require_file(path)
    with naming_large(path), naming_memory(path), _naming(path):
        source = CsvColumns(path) if kind == ".csv" else ParquetColumns(path, large)
        return _read(source, **options, actions=actions)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except UnpackedSizeError:
        raise
    except (ValueError, csv.Error) as error:
        raise DemonstrationError(f"{path}: {brief(error)}") from error


def _read(source, *, states, terminal, episode, clips, actions) -> Recorded:
    roles = roles_of(
        list(source.names), states=states, terminal=terminal, episode=episode, actions=actions
    )
    columns = source.read(roles.names, roles.episode)
    rows = len(columns[roles.states[0]].values)
    labels = _one_label(rows) if roles.episode is None else columns[roles.episode]
    episodes = _episodes(labels)
    if roles.step is not None:
        _check_steps(roles.step, _numeric(roles.step, columns[roles.step]), episodes)
    if roles.time is not None:
        _check_times(roles.time, _numeric(roles.time, columns[roles.time]), episodes)
    for name in roles.states:
        _check_complete(name, _numeric(name, columns[name]), episodes)
    given = terminal
    if roles.terminal is not None:
        given = _flags(roles.terminal, columns[roles.terminal], episodes)
    flags = terminal_flags(given, len(episodes))
    returns = None
    if roles.reward is not None:
        returns = _returns(roles.reward, columns[roles.reward], episodes)

    block = np.stack([columns[name].values for name in roles.states], axis=1)
    taken: list[Any] = [None] * len(episodes)
    if roles.actions:
        taken = _actions(columns, roles.actions, episodes)
    raw = map(Trajectory, [block[rows] for rows in episodes], flags, taken)
    metadata = _metadata(decode_metadata(source.metadata), roles.states, states is not None)
    metadata |= {CLIPS: True} if clips else {}
    trajectories = list(checked(raw, clips=are_clips(metadata)))
    if roles.time is not None and roles.time.lower() == TIME:
        metadata |= _interval(roles.time, columns[roles.time], episodes)
    return trajectories, valid_returns(returns, len(episodes)), metadata


def _metadata(stored: dict[str, Any], names: Sequence[str], chosen: bool) -> dict[str, Any]:
    """What the file says of itself, with the names of the columns that were read."""
    check_statements(stored)
    if chosen:  # it speaks of all columns of the table
        stored.pop(OBSERVED, None)
    return stored | {NAMES: list(names)} if all(names) else stored


def _one_label(rows: int) -> Column:
    """The episode of every row of a table without such a column."""
    return Column(np.zeros(rows, np.int64), np.zeros(rows, bool))


def _episodes(column: Column) -> list[slice]:
    labels = column.values
    if not len(labels):
        raise ValueError("the table has no rows; at least one trajectory is needed")
    if column.missing.any():
        raise ValueError(f"row {int(np.argmax(column.missing))} has no episode")
    starts = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(), len(labels)]
    seen: dict[Any, int] = {}
    for index, start in enumerate(starts[:-1]):
        label = labels[start]
        earlier = seen.setdefault(label, index)
        if earlier != index:
            raise ValueError(
                f"trajectory {index}: row {start} belongs to episode {str(label)!r}, which already "
                f"was trajectory {earlier}; sort the rows, or give every episode its own name"
            )
    return [slice(a, b) for a, b in itertools.pairwise(starts)]


def _numeric(name: str, column: Column) -> Column:
    if column.values.dtype.kind not in "biuf":
        shown = repr(column.values[0]) if len(column.values) else "nothing"
        raise ValueError(
            f"column {name!r} holds {shown} of type {column.values.dtype}, expected numbers; drop "
            f"it, or {LISTED}"
        )
    return column


def _check_steps(name: str, column: Column, episodes: list[slice]) -> None:
    for index, rows in enumerate(episodes):
        steps = np.where(column[rows].missing, np.nan, column[rows].values.astype(np.float64))
        wrong = np.flatnonzero(np.diff(steps) != 1)
        if len(wrong):
            before, after = steps[wrong[0]], steps[wrong[0] + 1]
            raise ValueError(
                f"trajectory {index}: {name} goes from {before:g} to {after:g}, expected one more; "
                "sort the rows, and split an episode where rows are missing"
            )


def _interval(name: str, column: Column, episodes: list[slice]) -> dict[str, float]:
    """The seconds between two rows, as an entry of the metadata; none if no episode has two."""
    steps = [np.diff(column[rows].values.astype(np.float64)) for rows in episodes]
    if not sum(map(len, steps)):
        return {}
    usual = float(np.median(np.concatenate(steps)))
    for index, differences in enumerate(steps):
        uneven = np.abs(differences - usual) > NEARLY * usual
        if uneven.any():
            step = int(np.argmax(uneven))
            raise ValueError(
                f"trajectory {index}: {name} is not even, as elsewhere {usual:g} s, after step "
                f"{step} ({differences[step]:g} s); split an episode where rows are missing, or "
                f"resample; if only the clock is uneven, call the column {STAMP!r} and say the rate"
            )
    return {SECONDS: usual}


def _check_times(name: str, column: Column, episodes: list[slice]) -> None:
    _check_complete(name, column, episodes)
    for index, rows in enumerate(episodes):
        times = column[rows].values.astype(np.float64)
        wrong = np.flatnonzero(np.diff(times) <= 0)
        if len(wrong):
            before, after = times[wrong[0]], times[wrong[0] + 1]
            raise ValueError(
                f"trajectory {index}: {name} goes from {before:g} to {after:g}, expected it to "
                "rise; sort the rows, or give the rows after it another episode"
            )


def _check_complete(name: str, column: Column, episodes: list[slice]) -> None:
    if not column.missing.any():
        return
    for index, rows in enumerate(episodes):
        missing = column[rows].missing
        if missing.any():
            raise ValueError(
                f"trajectory {index}: column {name!r} is empty or NaN at step "
                f"{int(np.argmax(missing))}; drop the trajectory or repair its recording"
            )


def _flags(name: str, column: Column, episodes: list[slice]) -> list[bool]:
    values, missing = column.values, column.missing
    if values.dtype.kind not in "biuf" or not np.isin(values[~missing], (0, 1)).all():
        raise ValueError(f"column {name!r} must hold true and false, or 1 and 0")
    true = np.where(missing, 0, values).astype(bool)
    flags = []
    for index, rows in enumerate(episodes):
        last = rows.stop - 1
        if true[rows.start : last].any():
            step = int(np.argmax(true[rows]))
            raise ValueError(
                f"trajectory {index}: {name} is true at step {step}, but the episode has "
                f"{last - rows.start} steps; give the rows after it another episode"
            )
        if missing[last]:
            raise ValueError(f"trajectory {index}: {name} is empty in its last row")
        flags.append(bool(true[last]))
    return flags


def _returns(name: str, column: Column, episodes: list[slice]) -> list[float]:
    _numeric(name, column)
    returns = []
    for index, rows in enumerate(episodes):
        missing = column[rows].missing
        if missing[1:-1].any() or (missing[0] and missing[-1]):
            raise ValueError(
                f"trajectory {index}: column {name!r} has {int(missing.sum())} empty rows, "
                "but only the first or the last may be empty; fill them in or drop the column"
            )
        rewards = column[rows].values[~missing].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # valid_returns reports it
            returns.append(float(rewards.sum()))
    return returns


def _actions(
    columns: Mapping[str, Column], names: Sequence[str], episodes: list[slice]
) -> list[np.ndarray]:
    but_last = [slice(rows.start, rows.stop - 1) for rows in episodes]
    for name in names:
        _check_complete(name, _numeric(name, columns[name]), but_last)
    if list(names) == [ACTION]:  # a single number, such as a Discrete action
        block = columns[ACTION].values
    else:
        block = np.stack([columns[name].values for name in names], axis=1)
    return [block[rows] for rows in but_last]
