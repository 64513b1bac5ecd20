"""The CSV tables of a run, which survive a killed process.

The first row sets the columns. Numbers are read back exactly as they were written. A line without
its line break is incomplete: it is not read, and `remove_rows_after` deletes it.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.storage.atomic import atomic_write_text, naming

CsvRow = Mapping[str, Any]


class RunError(ValueError):
    """A run directory cannot be read, written or resumed."""


def append_rows(path: Path, rows: Sequence[CsvRow]) -> bytes:
    """Append rows, flush them to disk, and return what was written."""
    columns, header = _columns(path), ""
    if not columns:
        columns = _checked_columns(path, rows[0])
        header = ",".join(columns) + "\n"
    text = (header + "".join(_line(path, columns, row) for row in rows)).encode("utf-8")
    with naming(path), open(path, "ab") as file:
        file.write(text)
        file.flush()
        # The rows must be on disk before the checkpoint that follows them.
        os.fsync(file.fileno())
    return text


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All complete rows."""
    header, *lines = _complete_lines(path) or [""]
    columns = header.split(",")
    return [_parse(path, number, columns, line) for number, line in enumerate(lines, start=2)]


def remove_rows_after(path: Path, iteration: int) -> None:
    """Delete the rows of later iterations and an incomplete last line."""
    if not path.exists():
        return
    header, *lines = _complete_lines(path) or [""]
    rows = zip(lines, read_rows(path), strict=True)
    kept = [line for line, row in rows if row["iteration"] <= iteration]
    atomic_write_text(path, "".join(f"{line}\n" for line in [header, *kept] if line))


def _columns(path: Path) -> list[str]:
    """The header of a table, empty if there is none yet."""
    if not path.exists() or path.stat().st_size == 0:
        return []
    with open(path, "rb") as file:
        header = file.readline()
        file.seek(-1, os.SEEK_END)
        if file.read() != b"\n":
            raise RunError(f"{path} ends in an incomplete line; call remove_rows_after first")
    return header.decode("utf-8").rstrip("\n").split(",")


def _checked_columns(path: Path, row: CsvRow) -> list[str]:
    for column in row:
        if not re.fullmatch(r'[^,"\r\n]+', column):
            raise RunError(
                f"{path}: {column!r} cannot name a column; leave out commas, quotes and line breaks"
            )
    return list(row)


def _line(path: Path, columns: list[str], row: CsvRow) -> str:
    missing = [column for column in columns if column not in row]
    new = [column for column in row if column not in columns]
    if missing or new:
        raise RunError(
            f"{path}: a row differs from the header: missing {missing}, not in the header {new}; "
            "give every row the columns of the first"
        )
    cells = {column: _cell(path, column, row[column]) for column in columns}
    if not re.fullmatch(r"-?\d+", cells.get("iteration", "")):
        raise RunError(f"{path}: expected an integer 'iteration', got {row.get('iteration')!r}")
    return ",".join(cells.values()) + "\n"


def _cell(path: Path, column: str, value: Any) -> str:
    if value is None:
        return ""
    number = np.asarray(value).item() if np.ndim(value) == 0 else value
    if isinstance(number, int):
        return str(int(number))
    if isinstance(number, float):
        return repr(number)
    raise RunError(f"{path}: expected a number or None as {column!r}, got {value!r}")


def _complete_lines(path: Path) -> list[str]:
    text = path.read_bytes() if path.exists() else b""
    complete, line_break, _ = text.rpartition(b"\n")
    try:
        return complete.decode("utf-8").split("\n") if line_break else []
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not text: {error}; restore it") from error


def _parse(path: Path, number: int, columns: list[str], line: str) -> dict[str, Any]:
    try:
        row = dict(zip(columns, map(_number, line.split(",")), strict=True))
        if isinstance(row["iteration"], int):
            return row
    except (ValueError, KeyError):
        pass
    shown = line if len(line) <= 80 else f"{line[:80]}..."
    raise RunError(
        f"{path}, line {number}: {shown!r} is not a row of the columns {', '.join(columns)[:200]}"
    )


def _number(cell: str) -> int | float | None:
    if cell == "":
        return None
    return int(cell) if re.fullmatch(r"-?\d+", cell) else float(cell)
