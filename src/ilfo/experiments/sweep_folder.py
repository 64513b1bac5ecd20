"""The folder of a sweep of one's own: its run directories, and `sweep.json` with what it runs."""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ilfo.common.printable import brief
from ilfo.experiments.sweep_file import PlannedRun, SweepFile
from ilfo.storage.atomic import atomic, atomic_write_text, is_temporary

RECORD = "sweep.json"
LAST = "summary.json"
"""The file that makes a run directory a finished one."""
MARK = ".driver-"


def open_folder(out: Path, sweep: SweepFile, cpus: int) -> None:
    """Make the folder, or raise ValueError if it holds another sweep, or something else."""
    now = json.loads(json.dumps({**sweep.content, "cpus_per_run": cpus}))
    record = out / RECORD
    if record.exists():
        _check_same(out, _recorded(record), now, sweep.path)
        return
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; choose another --out")
    if out.exists() and not all(map(is_temporary, out.iterdir())):
        raise ValueError(f"{out} is not empty and holds no sweep; choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    atomic_write_text(record, json.dumps(now, indent=1) + "\n")


def _recorded(record: Path) -> dict[str, Any]:
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        dict(_leaves(content, ""))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{record} is not valid JSON: {brief(error)}; restore it, or choose another --out"
        ) from error
    return content


def missing_runs(out: Path, sweep: SweepFile) -> list[PlannedRun]:
    """The runs that are not finished."""
    return [run for run in sweep.runs if not (out / run.name / LAST).exists()]


def _check_same(out: Path, before: Any, now: Any, path: Path) -> None:
    was, is_now = dict(_leaves(before, "")), dict(_leaves(now, ""))
    listed = [
        f"{name} was {_said(was, name)} and is {_said(is_now, name)}"
        for name in sorted(was.keys() | is_now.keys())
        if _said(was, name) != _said(is_now, name)
    ]
    if listed:
        raise ValueError(
            f"{out} holds the runs of another sweep than {path} describes: "
            f"{brief('; '.join(listed))}; restore the file, or choose another --out"
        )


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else key)
    else:
        yield name, value


def _said(values: Mapping[str, Any], name: str) -> str:
    return json.dumps(values[name]) if name in values else "missing"


@contextmanager
def marked_folder(out: Path) -> Iterator[Path]:
    """A file by which nodes see whether they share this folder with the driver."""
    for left in out.glob(f"{MARK}*"):
        left.unlink(missing_ok=True)
    mark = out / f"{MARK}{uuid.uuid4().hex}"
    atomic_write_text(mark, "")
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a run directory that a node has sent, unless it is there already."""
    if (folder / LAST).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda name: name == LAST):
        with atomic(folder / Path(name).name) as file:
            file.write(files[name])
