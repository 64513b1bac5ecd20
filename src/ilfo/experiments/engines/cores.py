"""Cores of this machine: which there are, and a few for one run alone.

Results are bit-identical only for the same number of threads, and XLA starts one per core that it
may use. So a run is restricted to as many cores as it was asked to use.
"""

import fcntl
import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

_held: list[BinaryIO] = []
"""Locks of the cores that this process has claimed; the system unlocks them when it ends."""


def cores() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def stay_on(*chosen: int) -> None:
    """Restrict this process to these cores, on systems that support it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, chosen)


def claim_cores(count: int) -> None:
    """Restrict this process to `count` cores that the fewest other runs of this user have claimed,
    whoever started them."""
    available = cores()
    if count > len(available):
        raise ValueError(
            f"a run was asked to use {count} cores, but may use only {len(available)} here; lower "
            "--cpus-per-run"
        )
    folder = Path(tempfile.gettempdir()) / f"ilfo-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for turn in itertools.count():
        locks = _lock(folder, turn, available, count)
        if len(locks) == count:
            break
        for lock in locks.values():
            lock.close()
    _held.extend(locks.values())
    stay_on(*locks)


def _lock(folder: Path, turn: int, available: Sequence[int], count: int) -> dict[int, BinaryIO]:
    """Up to `count` cores that no other process has claimed in this turn. Where every core is taken
    once, the next turn begins."""
    locks: dict[int, BinaryIO] = {}
    for core in available:
        if len(locks) == count:
            break
        file = open(folder / f"{core}-{turn}", "ab")  # noqa: SIM115 - held by this process
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locks[core] = file
        except BlockingIOError:
            file.close()
    return locks
