"""The directory of a training run and its files.

config.json     everything needed to repeat the run
metrics.csv     one row per iteration and seed; the same bits every time on the same machine
timings.csv     wall-clock times of every iteration
last.npz        checkpoint of the last iteration, from which a run resumes; it holds the selected
                policies, too, and checksums of the files above
summary.json    final scores, written at the end
.lock           locked while a process writes here; the system unlocks it when the process ends
"""

import fcntl
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO

import jax
import numpy as np

from ilfo.runs.csv_tables import CsvRow, RunError, append_rows, read_rows, remove_rows_after
from ilfo.runs.integrity import ENTRY, Tally, check_config, check_table, config_sum
from ilfo.storage.atomic import atomic_write_text, is_temporary, remove_leftovers
from ilfo.storage.checkpoint import CheckpointError, read_meta

TABLES = ("metrics", "timings")
CHECKPOINT = "last.npz"


class RunInUseError(RunError):
    """Another process writes to the run directory."""


class RunDirectory:
    """A run directory, opened by `create` or `open`; a context manager that releases its lock."""

    def __init__(self, path: Path, config: dict[str, Any], lock: BinaryIO | None):
        self.path = path
        self._config = config
        self._lock = lock
        self._tallies: dict[str, Tally] = {}

    @classmethod
    def create(cls, path: str | os.PathLike[str], config: Mapping[str, Any]) -> "RunDirectory":
        """Create a run directory and open it for writing; `config` must be JSON-compatible."""
        path = Path(path)
        text = _config_text(config)
        check_unused(path)
        path.mkdir(parents=True, exist_ok=True)
        lock = _lock(path)
        try:
            check_unused(path)  # again: another process may have created it meanwhile
            remove_leftovers(path)
            atomic_write_text(path / "config.json", text)
        except BaseException:
            lock.close()
            raise
        return cls(path, json.loads(text), lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], write: bool = False) -> "RunDirectory":
        """Open an existing run directory; `write` locks it and allows changes."""
        path = Path(path)
        config = _read_config(path)
        lock = _lock(path) if write else None
        if write:
            remove_leftovers(path)
        return cls(path, config, lock)

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        return self._config

    def entry(self, name: str, kind: type | UnionType) -> Any:
        """An entry of config.json, or RunError if it is not of that kind."""
        value = self._config.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            expected = getattr(kind, "__name__", str(kind))
            raise RunError(
                f"{self.path / 'config.json'} has {_short(value)} as {name!r}, expected a "
                f"{expected}; restore it"
            )
        return value

    def read_summary(self) -> dict[str, Any] | None:
        """The content of summary.json; None before the run has ended."""
        path = self.path / "summary.json"
        return _read_json(path) if path.exists() else None

    def update_config(self, changes: Mapping[str, Any]) -> None:
        """Replace entries of config.json."""
        self._check_writable()
        text = _config_text(self._config | dict(changes))
        atomic_write_text(self.path / "config.json", text)
        self._config = json.loads(text)

    @property
    def checkpoint(self) -> Path:
        """Path of the checkpoint; there is none before the first iteration has finished."""
        return self.path / CHECKPOINT

    def append(self, name: str, rows: CsvRow | Sequence[CsvRow]) -> None:
        """Append one row, or several, to "metrics" or "timings"; the first row sets the columns.

        A cell is a number or None (an empty cell); a bool is written as 0 or 1. Every row has an
        integer "iteration".
        """
        self._check_writable()
        rows = [rows] if isinstance(rows, Mapping) else rows
        if rows:
            tally = self._tally(name)
            tally.add(append_rows(self._table(name), rows))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All complete rows of "metrics" or "timings"; empty cells are None."""
        return read_rows(self._table(name))

    def remove_rows_after(self, iteration: int) -> None:
        """Delete the rows of later iterations and incomplete lines from both tables."""
        self._check_writable()
        self._tallies.clear()
        for name in TABLES:
            remove_rows_after(self._table(name), iteration)

    def checksums(self, iteration: int) -> dict[str, Any]:
        """Of the configuration and of all rows so far; for the checkpoint that is written next."""
        self._check_writable()
        tables = {self._table(name).name: self._tally(name).as_dict() for name in TABLES}
        return {"iteration": iteration, "config": config_sum(self._config)} | tables

    def check_files(self) -> None:
        """Raise RunError if a file is not the one that the checkpoint was written with."""
        recorded = read_meta(self.checkpoint).get(ENTRY)
        if recorded is None:
            return  # of a version that wrote no checksums
        if not isinstance(recorded, Mapping):
            raise RunError(f"{self.checkpoint} holds no usable checksums: {recorded!r}")
        check_config(self.path / "config.json", self._config, recorded)
        for name in TABLES:
            check_table(self._table(name), recorded)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json; arrays become lists, nan and inf become null."""
        self._check_writable()
        text = json.dumps(_plain(summary), indent=1, allow_nan=False)
        atomic_write_text(self.path / "summary.json", text + "\n")

    def _tally(self, name: str) -> Tally:
        if name not in self._tallies:
            self._tallies[name] = Tally(self._table(name))
        return self._tallies[name]

    def _table(self, name: str) -> Path:
        if name not in TABLES:
            raise RunError(f"unknown table {name!r}; choose from {', '.join(TABLES)}")
        return self.path / f"{name}.csv"

    def _check_writable(self) -> None:
        if self._lock is None:
            raise RunError(f"{self.path} is not open for writing; open it with write=True")


def kept_on_disk(path: Path) -> str:
    """What there is of a run whose training has stopped, in words."""
    try:
        iteration = read_meta(path / CHECKPOINT)[ENTRY]["iteration"]
    except (CheckpointError, OSError, KeyError):
        return f"no iteration was finished, so nothing is kept in {path}"
    command = f"ilfo resume {path}{_trusting(path)}"
    return f"kept up to iteration {iteration}; continue with: {command}"


def _trusting(path: Path) -> str:
    """What to add to a command on a run whose environment is made by a module of one's own."""
    try:
        environment = _read_config(path)["spec"]["env"]
    except (RunError, KeyError, TypeError):
        return ""
    module = str(environment or "").rpartition(":")[0]
    return f" --trust-env {module}" if module else ""


def _lock(path: Path) -> BinaryIO:
    file = open(path / ".lock", "ab")  # noqa: SIM115 - stays open as long as the run directory
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunInUseError(
            f"{path} is in use by another process; wait for it, stop it, or choose another --out"
        ) from None
    return file


def check_unused(path: Path) -> None:
    """Raise RunError if a run directory cannot be made there."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; choose another --out")
    # A lock or a temporary file alone is left by a process that died before writing a config.
    if path.is_dir() and any(e.name != ".lock" and not is_temporary(e) for e in path.iterdir()):
        raise RunError(
            f"{path} is in use: it is not empty; choose another --out, or continue the run in it "
            "with `ilfo resume`"
        )


def _config_text(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(config), indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise RunError(f"the config of a run must be JSON-compatible: {error}") from error


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise RunError(f"there is no run directory {path}; check the path")
    if not (path / "config.json").is_file():
        raise RunError(f"{path} is not a run directory: it has no config.json; check the path")
    return _read_json(path / "config.json")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not valid JSON: {error}; restore it") from error
    if not isinstance(data, dict):
        raise RunError(f"{path} holds {_short(data)}, expected a JSON object; restore it")
    return data


def _short(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


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
