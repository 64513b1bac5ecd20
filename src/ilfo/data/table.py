"""Demonstrations from a table: a CSV file, a Parquet file, or columns in memory.

Each row is one state, so an episode of T transitions has T+1 rows. The columns are

    episode    a number or a name; the rows of an episode are consecutive and in order of time
    step       optional, increases by one from row to row; used to detect missing rows
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
from ilfo.data.columns import EPISODE, Column, CsvColumns, MemoryColumns, ParquetColumns
from ilfo.data.npz import DemonstrationError, naming_large, require_file
from ilfo.data.trajectory import Trajectory, checked, terminal_flags, valid_returns
from ilfo.data.unpacking import UnpackedSizeError

STEP, TERMINAL, ACTION, REWARD = "step", "terminal", "action", "reward"
SUFFIXES = (".csv", ".parquet")
_NO_STATES = frozenset(
    [
        "episode",
        "episode_id",
        "trajectory",
        "step",
        "steps",
        "t",
        "time",
        "timestep",
        "timestamp",
        "index",
        "id",
        "terminal",
        "terminals",
        "terminated",
        "done",
        "dones",
        "truncated",
        "truncation",
        "timeout",
        "reward",
        "rewards",
        "rews",
        "return",
        "act",
        "acts",
        "info",
        "infos",
    ]
)
"""Column names, in any case, that are hardly ever dimensions of a state."""

Table = str | os.PathLike[str] | Mapping[str, ArrayLike]


def read_table(
    table: Table,
    *,
    states: Sequence[str] | None,
    terminal: bool | Sequence[bool] | np.ndarray | None,
    actions: bool,
    large: bool = False,
) -> tuple[list[Trajectory], np.ndarray | None]:
    """The trajectories and their returns; only the needed columns are decoded."""
    if isinstance(table, Mapping):
        return _read(MemoryColumns(table), states, terminal, actions)
    path = Path(table)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise DemonstrationError(f"{path} ends in {kind!r}, expected one of {', '.join(SUFFIXES)}")
    require_file(path)
    with naming_large(path), _naming(path):
        source = CsvColumns(path) if kind == ".csv" else ParquetColumns(path, large)
        return _read(source, states, terminal, actions)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except UnpackedSizeError:
        raise
    except (ValueError, csv.Error) as error:
        raise DemonstrationError(f"{path}: {brief(error)}") from error
    except MemoryError as error:
        raise DemonstrationError(
            f"{path}: there is not enough memory to read it; split it into several files, convert "
            "them one by one with `ilfo demos convert`, and put them into one folder"
        ) from error


def _read(source, states, terminal, actions) -> tuple[list[Trajectory], np.ndarray | None]:
    names = list(source.names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"columns {twice} appear more than once; rename or drop the duplicates")
    dimensions = _dimensions(names, states)
    acts = [name for name in names if _is_action(name)] if actions else []
    if actions and not acts:
        raise ValueError(f"there is no column that begins with {ACTION!r}, only {names}")
    _check_terminal(names, terminal)
    special = [name for name in (EPISODE, STEP, TERMINAL, REWARD) if name in names]
    columns = source.read([*special, *dimensions, *acts])

    episodes = _episodes(columns[EPISODE])
    if STEP in columns:
        _check_steps(_numeric(STEP, columns[STEP]), episodes)
    for name in dimensions:
        _check_complete(name, _numeric(name, columns[name]), episodes)
    given = _flags(columns[TERMINAL], episodes) if terminal is None else terminal
    flags = terminal_flags(given, len(episodes))
    returns = _returns(columns[REWARD], episodes) if REWARD in columns else None

    block = np.stack([columns[name].values for name in dimensions], axis=1)
    labels: list[Any] = [None] * len(episodes)
    if acts:
        labels = _actions([columns[name] for name in acts], acts, episodes)
    raw = map(Trajectory, [block[rows] for rows in episodes], flags, labels)
    return list(checked(raw)), valid_returns(returns, len(episodes))


def _is_action(name: str) -> bool:
    return name.lower().startswith(ACTION)


def _dimensions(names: list[str], states: Sequence[str] | None) -> list[str]:
    """The columns that are dimensions of the state."""
    if EPISODE not in names:
        raise ValueError(f"there is no column {EPISODE!r}, only {names}")
    possible = [
        name
        for name in names
        if name not in (EPISODE, STEP, TERMINAL, REWARD) and not _is_action(name)
    ]
    if states is None:
        unnamed = [name for name in possible if not name or name.startswith("__index_level_")]
        if unnamed:
            raise ValueError(
                f"column {names.index(unnamed[0])} has no name and may be an index; remove it from "
                "the table, or list the columns of the state with states=[...]"
            )
        odd = [name for name in possible if name.lower() in _NO_STATES]
        if odd:
            raise ValueError(
                f"column {odd[0]!r} does not look like a dimension of the state; drop it, rename "
                f"it to {EPISODE}, {STEP}, {TERMINAL}, {REWARD} or {ACTION}... if it is one of "
                "these, or list the columns of the state with states=[...]"
            )
        chosen = possible
    else:
        chosen = [states] if isinstance(states, str) else list(states)
        wrong = [name for name in chosen if name not in possible]
        if wrong or len(set(chosen)) < len(chosen):
            raise ValueError(f"states={chosen}, expected distinct names from {possible}")
    if not chosen:
        raise ValueError(f"none of the columns {names} is a dimension of the state")
    return chosen


def _check_terminal(names: list[str], terminal: Any) -> None:
    if terminal is None and TERMINAL not in names:
        raise ValueError(
            f"there is no column {TERMINAL!r}; add one that is true in the last row of an episode "
            "that ended in a terminal state, or call Demonstrations.from_table(..., "
            "terminal=False) if all episodes were truncated"
        )
    if terminal is not None and TERMINAL in names:
        raise ValueError(f"terminal is given twice: leave it out, or drop the column {TERMINAL!r}")


def _episodes(column: Column) -> list[slice]:
    labels = column.values
    if not len(labels):
        raise ValueError("the table has no rows; at least one trajectory is needed")
    if column.missing.any():
        raise ValueError(f"row {int(np.argmax(column.missing))} has no {EPISODE}")
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
            "it, or list the columns of the state with states=[...]"
        )
    return column


def _check_steps(column: Column, episodes: list[slice]) -> None:
    for index, rows in enumerate(episodes):
        steps = np.where(column[rows].missing, np.nan, column[rows].values.astype(np.float64))
        wrong = np.flatnonzero(np.diff(steps) != 1)
        if len(wrong):
            before, after = steps[wrong[0]], steps[wrong[0] + 1]
            raise ValueError(
                f"trajectory {index}: {STEP} goes from {before:g} to {after:g}, expected one more; "
                "sort the rows, and split an episode where rows are missing"
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


def _flags(column: Column, episodes: list[slice]) -> list[bool]:
    values, missing = column.values, column.missing
    if values.dtype.kind not in "biuf" or not np.isin(values[~missing], (0, 1)).all():
        raise ValueError(f"column {TERMINAL!r} must hold true and false, or 1 and 0")
    true = np.where(missing, 0, values).astype(bool)
    flags = []
    for index, rows in enumerate(episodes):
        last = rows.stop - 1
        if true[rows.start : last].any():
            step = int(np.argmax(true[rows]))
            raise ValueError(
                f"trajectory {index}: {TERMINAL} is true at step {step}, but the episode has "
                f"{last - rows.start} steps; give the rows after it another {EPISODE}"
            )
        if missing[last]:
            raise ValueError(f"trajectory {index}: {TERMINAL} is empty in its last row")
        flags.append(bool(true[last]))
    return flags


def _returns(column: Column, episodes: list[slice]) -> list[float]:
    _numeric(REWARD, column)
    returns = []
    for index, rows in enumerate(episodes):
        missing = column[rows].missing
        if missing[1:-1].any() or (missing[0] and missing[-1]):
            raise ValueError(
                f"trajectory {index}: column {REWARD!r} has {int(missing.sum())} empty rows, "
                "but only the first or the last may be empty; fill them in or drop the column"
            )
        rewards = column[rows].values[~missing].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # valid_returns reports it
            returns.append(float(rewards.sum()))
    return returns


def _actions(columns: list[Column], names: list[str], episodes: list[slice]) -> list[np.ndarray]:
    but_last = [slice(rows.start, rows.stop - 1) for rows in episodes]
    for name, column in zip(names, columns, strict=True):
        _check_complete(name, _numeric(name, column), but_last)
    if names == [ACTION]:  # a single number, such as a Discrete action
        block = columns[0].values
    else:
        block = np.stack([column.values for column in columns], axis=1)
    return [block[rows] for rows in but_last]
