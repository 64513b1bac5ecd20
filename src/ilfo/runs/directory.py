"""The directory that a training run leaves behind.

config.json     everything needed to build the run again
metrics.csv     one row per iteration and seed; equal bits on the same machine
timings.csv     the same for wall-clock values, which never repeat
last.npz        checkpoint of the last iteration, from which a run resumes
best.npz        checkpoint of the policy that was chosen
summary.json    written at the end, for other programs
.lock           held while a process writes here; the system frees it when the process dies
"""

import fcntl
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import jax
import numpy as np

from ilfo.runs.csv_tables import CsvRow, RunError, append_rows, cut_back, read_rows
from ilfo.storage.atomic import atomic_write_text, is_temporary, remove_leftovers

TABLES = ("metrics", "timings")
CHECKPOINTS = ("last", "best")


class RunDirectory:
    """Made by `create` or `open`; a context manager that gives the lock back."""

    def __init__(self, path: Path, config: dict[str, Any], lock: BinaryIO | None):
        self.path = path
        self._config = config
        self._lock = lock

    @classmethod
    def create(cls, path: str | os.PathLike[str], config: Mapping[str, Any]) -> "RunDirectory":
        """A new run directory, open for writing; `config` is a JSON-able dict."""
        path = Path(path)
        text = _config_text(config)
        _check_unused(path)
        path.mkdir(parents=True, exist_ok=True)
        lock = _lock(path)
        try:
            _check_unused(path)  # again: another process may have been quicker
            remove_leftovers(path)
            atomic_write_text(path / "config.json", text)
        except BaseException:
            lock.close()
            raise
        return cls(path, json.loads(text), lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], write: bool = False) -> "RunDirectory":
        """An existing run directory; only with `write` is it locked and may be changed."""
        path = Path(path)
        config = _read_config(path)
        lock = _lock(path) if write else None
        if write:
            remove_leftovers(path)
        return cls(path, config, lock)

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def config(self) -> dict[str, Any]:
        return self._config

    def update_config(self, changes: Mapping[str, Any]) -> None:
        """Replace entries of the configuration, on disk first."""
        self._check_writable()
        text = _config_text(self._config | dict(changes))
        atomic_write_text(self.path / "config.json", text)
        self._config = json.loads(text)

    def path_of(self, checkpoint: str) -> Path:
        """Where the checkpoint "last" or "best" lies."""
        _check_choice("checkpoint", checkpoint, CHECKPOINTS)
        return self.path / f"{checkpoint}.npz"

    def append(self, name: str, rows: CsvRow | Sequence[CsvRow]) -> None:
        """Add one row, or several, to "metrics" or "timings"; the first row sets the columns.

        A cell is a number or None (an empty cell); a bool is written as 0 or 1. Every row has an
        integer "iteration".
        """
        self._check_writable()
        rows = [rows] if isinstance(rows, Mapping) else rows
        if rows:
            append_rows(self._table(name), rows)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All complete rows, with ints as int, floats exactly as they were, empty cells None."""
        return read_rows(self._table(name))

    def cut_back(self, iteration: int) -> None:
        """Remove the rows after `iteration` and half-written lines, from both tables."""
        self._check_writable()
        for name in TABLES:
            cut_back(self._table(name), iteration)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write `summary.json`; NumPy and JAX values become plain, nan and inf become null."""
        self._check_writable()
        text = json.dumps(_plain(summary), indent=1, allow_nan=False)
        atomic_write_text(self.path / "summary.json", text + "\n")

    def read_summary(self) -> dict[str, Any]:
        path = self.path / "summary.json"
        if not path.is_file():
            raise RunError(f"{self.path} has no summary.json yet; finish it with `ilfo resume`")
        return _read_json(path)

    def _table(self, name: str) -> Path:
        _check_choice("table", name, TABLES)
        return self.path / f"{name}.csv"

    def _check_writable(self) -> None:
        if self._lock is None:
            raise RunError(f"{self.path} is closed or open for reading; open it with write=True")


def _lock(path: Path) -> BinaryIO:
    file = open(path / ".lock", "ab")  # noqa: SIM115 - stays open as long as the run directory
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunError(
            f"{path} is in use by another process; wait for it, stop it, or choose another --out"
        ) from None
    return file


def _check_unused(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; choose another --out")
    # A lock or a temporary file alone is a run that died before it had a config.
    if path.is_dir() and any(e.name != ".lock" and not is_temporary(e) for e in path.iterdir()):
        raise RunError(
            f"{path} is in use: it is not empty; choose another --out, or continue the run there "
            "with `ilfo resume`"
        )


def _check_choice(what: str, name: str, choices: tuple[str, ...]) -> None:
    if name not in choices:
        raise RunError(f"unknown {what} {name!r}; choose from {', '.join(choices)}")


def _config_text(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(config), indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise RunError(f"the config of a run must be made of JSON values: {error}") from error


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise RunError(f"there is no run directory {path}; check the path")
    if not (path / "config.json").is_file():
        raise RunError(f"{path} is not a run directory: it has no config.json; check the path")
    return _read_json(path / "config.json")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path} is not valid JSON: {error}; restore it") from error
    if not isinstance(data, dict):
        raise RunError(f"{path} holds {data!r}, expected a JSON object; restore it")
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray, jax.Array)):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
