"""Checksums of the files of a run that belong together.

The checkpoint is written last and carries them: of the configuration, and of the rows that were
written before it. So whenever a run is killed, its files fit. Rows after those of the checkpoint
are not covered; resuming deletes them. Neither is what may change: the budget, the conditions under
which the run is computed, the place of the demonstrations, which have a checksum of their own, and
the expert's return, with which scores are computed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilfo.runs.csv_tables import RunError

ENTRY = "run"
"""Where the checkpoint's description has the checksums."""
ELSEWHERE = "elsewhere"
"""Entry of a run's config and summary: each time it was resumed under other conditions."""
CONDITIONS = ("machine", "versions", "commit", "source", ELSEWHERE)
"""Entries of a run's config that say how its bits were computed."""
_RESTORE = "restore it, or start a new run"


class Tally:
    """Length and checksum of a table, which grows with the rows that are appended."""

    def __init__(self, path: Path):
        self._sum, self._bytes = hashlib.sha256(), 0
        if path.exists():
            self.add(path.read_bytes())

    def add(self, written: bytes) -> None:
        self._sum.update(written)
        self._bytes += len(written)

    def as_dict(self) -> dict[str, Any]:
        return {"bytes": self._bytes, "sha256": self._sum.hexdigest()}


def config_sum(config: Mapping[str, Any]) -> str:
    """Checksum of a configuration without what may change."""
    config = {name: value for name, value in config.items() if name not in CONDITIONS}
    spec = config.get("spec")
    if isinstance(spec, Mapping):
        kept = {name: value for name, value in spec.items() if name != "expert_return"}
        config = dict(config) | {"spec": kept | {"total_timesteps": None, "demos": None}}
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def check_config(path: Path, config: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    """Raise RunError if the configuration is another than the checkpoint was written with."""
    if recorded.get("config") != config_sum(config):
        raise RunError(
            f"{path} was changed after the run was started, or the checkpoint beside it is of "
            f"another run; {_RESTORE}"
        )


def check_table(path: Path, recorded: Mapping[str, Any]) -> None:
    """Raise RunError if rows that were written before the checkpoint are gone or have changed."""
    if not path.exists():
        raise RunError(f"{path} is missing; {_RESTORE}")
    expected = recorded.get(path.name) or {}
    size, rows = expected.get("bytes", 0), path.read_bytes()
    if len(rows) < size:
        raise RunError(f"{path} has {len(rows)} bytes, but {size} were written to it; {_RESTORE}")
    if hashlib.sha256(rows[:size]).hexdigest() != expected.get("sha256"):
        raise RunError(f"{path} was changed after it was written; {_RESTORE}")
