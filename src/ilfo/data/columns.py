"""Columns of a table in memory, in a CSV file or in a Parquet file.

Each source has `names`, `metadata` (what `ilfo` wrote into the file beside its columns) and
`read(names, labels)`. Only the requested columns are decoded; the entries of the column `labels`
stay as they are, because 1 and 01 are different episodes.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ilfo.common.optional import needed_from
from ilfo.common.printable import brief
from ilfo.data.unpacking import check_parquet

EPISODE = "episode"
"""The column of episode names, unless another one is named. Its entries may be text."""
METADATA = "ilfo_metadata"
"""Where a Parquet file holds the metadata of demonstrations, as JSON."""


@dataclass(frozen=True)
class Column:
    """Numbers, bools or text. Where `missing` is true, the value is a placeholder."""

    values: np.ndarray
    missing: np.ndarray

    def __getitem__(self, rows: slice) -> "Column":
        return Column(self.values[rows], self.missing[rows])


class MemoryColumns:
    """Columns of a dict of arrays."""

    metadata = "{}"

    def __init__(self, table: Mapping[str, ArrayLike]):
        self._table = table
        self.names = list(table)
        if not all(isinstance(name, str) for name in self.names):
            raise ValueError(f"the column names are {self.names}, expected strings")

    def read(self, names: list[str], labels: str | None) -> dict[str, Column]:
        columns = {name: _in_memory(name, self._table[name]) for name in names}
        lengths = {name: len(column.values) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns have different lengths: {lengths}")
        return columns


def _in_memory(name: str, given: ArrayLike) -> Column:
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"column {name!r} is not an array: {error}") from error
    if values.ndim != 1:
        raise ValueError(f"column {name!r} has shape {values.shape}, expected one entry per row")
    if values.dtype.kind == "f":
        return Column(values, np.isnan(values))
    if values.dtype.kind in "biu":
        return Column(values, np.zeros(len(values), bool))
    texts = values.astype(object)
    wrong = [entry for entry in texts if not isinstance(entry, str)]
    if wrong:
        raise ValueError(
            f"column {name!r} holds {wrong[0]!r} of type {type(wrong[0]).__name__}, expected "
            f"numbers, or text in the column {EPISODE!r}"
        )
    return Column(texts, texts == "")


class CsvColumns:
    """Columns of a CSV file with a header."""

    metadata = "{}"

    def __init__(self, path: Path):
        self._path = path
        with self._open() as file:
            self.names = [name.strip() for name in next(csv.reader(file, strict=True), [])]

    def _open(self):
        return open(self._path, newline="", encoding="utf-8-sig")

    def read(self, names: list[str], labels: str | None) -> dict[str, Column]:
        places = {name: place for place, name in enumerate(self.names)}
        wanted = [places[name] for name in names]
        cells: list[list[str]] = [[] for _ in names]
        with self._open() as file:
            rows = csv.reader(file, strict=True)
            next(rows)
            for row in rows:
                if not row:
                    continue  # an empty line, common at the end of a file
                if len(row) != len(self.names):
                    raise ValueError(
                        f"line {rows.line_num} has {len(row)} fields, "
                        f"but the header has {len(self.names)}"
                    )
                for column, index in zip(cells, wanted, strict=True):
                    column.append(row[index].strip())
        return {
            name: _texts(column) if name == labels else _parsed(column)
            for name, column in zip(names, cells, strict=True)
        }


def _texts(cells: list[str]) -> Column:
    texts = np.array(cells, dtype=object)
    return Column(texts, texts == "")


def _parsed(cells: list[str]) -> Column:
    """Entries as int64, float64 or bool, the first of these that fits all of them; else text."""
    column = _texts(cells)
    texts, present = column.values, ~column.missing
    words = {"true": True, "false": False}
    for dtype, convert in (
        (np.int64, lambda entries: entries.astype(np.int64)),
        (np.float64, lambda entries: entries.astype(np.float64)),
        (np.bool_, lambda entries: [words[entry.lower()] for entry in entries]),
    ):
        values = np.zeros(len(texts), dtype)
        try:
            values[present] = convert(texts[present])
        except (ValueError, OverflowError, KeyError):
            continue
        nan = np.isnan(values) if dtype is np.float64 else False
        return Column(values, column.missing | nan)
    return column


class ParquetColumns:
    """Columns of a Parquet file; needs pyarrow."""

    def __init__(self, path: Path, large: bool = False):
        with needed_from("parquet", f"reading {path}"):
            from pyarrow import parquet
        with _damage():
            read = parquet.read_metadata(path)
            if not large:
                check_parquet(path, read)
            schema = read.schema.to_arrow_schema()
            self._kinds = {field.name: field.type for field in schema}
            texts = [name for name, kind in self._kinds.items() if _is_text(kind)]
            self._file = parquet.ParquetFile(path, metadata=read, read_dictionary=texts)
            self.names = list(schema.names)
            stored = (schema.metadata or {}).get(METADATA.encode(), b"{}")
        self.metadata = stored.decode("utf-8")

    def read(self, names: list[str], labels: str | None) -> dict[str, Column]:
        for name in names:
            _check_kind(name, self._kinds[name])
        with self._file, _damage():
            table = self._file.read(columns=names)
            return {name: _from_arrow(table.column(name)) for name in names}


@contextmanager
def _damage() -> Iterator[None]:
    """Turns the many exceptions that pyarrow raises for damaged files into ValueError."""
    try:
        yield
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"it cannot be read as Parquet: {brief(error)}") from error


def _check_kind(name: str, kind: Any) -> None:
    """Raise ValueError for a column that cannot be used, before it is read."""
    from pyarrow import types

    held = _entries(kind)
    numbers = (types.is_boolean, types.is_integer, types.is_floating)
    if not _is_text(kind) and not any(is_one(held) for is_one in numbers):
        raise ValueError(
            f"column {name!r} is of type {kind}, expected numbers, or text in the column "
            f"{EPISODE!r}; drop it, or list the columns of the state: --states NAME ... "
            "(states=[...] in Python)"
        )


def _entries(kind: Any) -> Any:
    """The type of a column's entries, which a dictionary may hold."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(_entries(kind)) or types.is_large_string(_entries(kind))


def _from_arrow(column: Any) -> Column:
    from pyarrow import types

    if _is_text(column.type):
        texts = np.concatenate([_shared_texts(part) for part in column.chunks] or [_NO_TEXTS])
        return Column(texts, texts == "")
    column = column.cast(_entries(column.type))
    if types.is_floating(column.type):
        values = column.to_numpy()
        return Column(values, np.isnan(values))
    # NumPy has no missing integer: without filling, pyarrow would convert the column to float.
    missing = column.is_null().to_numpy()
    filler = 0 if types.is_integer(column.type) else False
    return Column(column.fill_null(filler).to_numpy(), missing)


_NO_TEXTS = np.array([], dtype=object)


def _shared_texts(part: Any) -> np.ndarray:
    """The entries of a dictionary, one object for all rows that have the same: a long one that is
    in every row would fill the memory."""
    entries = [text or "" for text in part.dictionary.to_pylist()]
    places = part.indices.cast("int64").fill_null(len(entries)).to_numpy(zero_copy_only=False)
    return np.array([*entries, ""], dtype=object)[places]
