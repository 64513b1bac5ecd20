"""Demonstrations to a table, CSV or Parquet, that `ilfo.data.table` reads back.

The return of a trajectory is the reward of its last row. A Parquet file also keeps the metadata;
a CSV file has no place for them.
"""

import csv
import io
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.data.columns import EPISODE, METADATA
from ilfo.data.npz import decode_metadata, joined_actions
from ilfo.data.roles import ACTION, REWARD, STEP, TERMINAL, is_action
from ilfo.data.statements import NAMES, valid_names
from ilfo.data.trajectory import Trajectory

Columns = dict[str, np.ndarray]


def write_csv(
    file: BinaryIO, trajectories: Sequence[Trajectory], returns: np.ndarray | None, metadata: str
) -> None:
    """Write a CSV file; the last row of an episode has no action."""
    columns, last = _columns(trajectories, returns, metadata)
    texts = [_texts(name, values, last) for name, values in columns.items()]
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*texts, strict=True))
    text.detach()


def _texts(name: str, values: np.ndarray, last: np.ndarray) -> list[str]:
    # the shortest text that is read back as the same number
    texts = [str(value) for value in values]
    if is_action(name):
        texts = ["" if end else text for text, end in zip(texts, last, strict=True)]
    return texts


def write_parquet(
    file: BinaryIO, trajectories: Sequence[Trajectory], returns: np.ndarray | None, metadata: str
) -> None:
    """Write a Parquet file, with the metadata in its schema; needs pyarrow."""
    with needed_from("parquet", "writing a Parquet file"):
        import pyarrow
        from pyarrow import parquet
    columns, last = _columns(trajectories, returns, metadata)
    table = pyarrow.table(
        {
            name: pyarrow.array(values, mask=last if is_action(name) else None)
            for name, values in columns.items()
        }
    )
    parquet.write_table(table.replace_schema_metadata({METADATA: metadata}), file)


def _columns(
    trajectories: Sequence[Trajectory], returns: np.ndarray | None, metadata: str
) -> tuple[Columns, np.ndarray]:
    """The columns by name, and which rows are the last of their episodes."""
    states = np.concatenate([trajectory.states for trajectory in trajectories])
    counts = [len(trajectory.states) for trajectory in trajectories]
    ends = np.cumsum(counts) - 1
    last = np.zeros(len(states), bool)
    last[ends] = True
    columns: Columns = {
        EPISODE: np.repeat(np.arange(len(counts)), counts),
        STEP: np.concatenate([np.arange(count) for count in counts]),
    }
    names = _names(decode_metadata(metadata), states.shape[1])
    columns |= {name: states[:, index] for index, name in enumerate(names)}
    columns |= _actions(trajectories)
    if returns is not None:
        columns[REWARD] = np.zeros(len(states))
        columns[REWARD][ends] = returns
    columns[TERMINAL] = np.zeros(len(states), bool)
    columns[TERMINAL][ends] = [trajectory.terminal for trajectory in trajectories]
    return columns, last


def _names(metadata: dict[str, Any], dim: int) -> Sequence[str]:
    """The names of the dimensions; numbers if they have none that a table could use."""
    known = valid_names(metadata.get(NAMES)) or ()
    taken = (EPISODE, STEP, TERMINAL, REWARD)
    if len(known) == dim and not any(name in taken or is_action(name) for name in known):
        return known
    return [f"state_{index}" for index in range(dim)]


def _actions(trajectories: Sequence[Trajectory]) -> Columns:
    actions = [trajectory.actions for trajectory in trajectories if trajectory.actions is not None]
    if not actions:
        return {}
    joined = joined_actions(actions, len(trajectories))
    if joined.dtype.kind not in "biuf":
        raise ValueError(f"actions have dtype {joined.dtype}, but a table holds numbers only")
    # the last row of an episode repeats its last action; writers leave it empty
    rows = np.concatenate([np.append(each, each[-1:], axis=0) for each in actions])
    if rows.ndim == 1:
        return {ACTION: rows}
    flat = rows.reshape(len(rows), -1)
    return {f"{ACTION}_{index}": flat[:, index] for index in range(flat.shape[1])}
