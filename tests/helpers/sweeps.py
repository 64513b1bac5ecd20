"""Programs in the place of the processes that an engine starts, and waiting for processes."""

import sys
import time
from collections.abc import Callable
from pathlib import Path


def as_worker(folder: Path, program: str) -> str:
    """An executable that runs this program with the arguments that Python would get: -m, the
    module, the job and the number of the file for its answer."""
    text, tool = folder / "worker.py", folder / "worker"
    text.write_text(program)
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} {text} "$@"\n')
    tool.chmod(0o755)
    return str(tool)


def running(pid: int) -> bool:
    """Neither gone nor only waiting to be buried."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(event: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not event():
        assert time.monotonic() < deadline
        time.sleep(0.02)
