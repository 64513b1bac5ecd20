"""A copy of each run in a place that outlives its node: `--store URL`.

URL is anything that `fsspec` opens: `s3://bucket/folder`, `gs://...`, `file:///mount/folder`. A
run is one object there, a .zip with the files of its run directory as they were after an
iteration. It is replaced as a whole, so files of two iterations, or of two processes that both
believe to own the run, never mix. That is all that is asked of the store: no lock, no appending.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilfo.agents.callbacks import Callback
from ilfo.common.optional import needed_from
from ilfo.runs.directory import CHECKPOINT
from ilfo.storage.atomic import atomic

FILES = ("metrics.csv", "timings.csv", CHECKPOINT, "summary.json", "curves.png", "config.json")
"""What is copied. The configuration comes last: it makes a folder a run directory."""


class Store(Callback):
    """The copy of one run; as a callback it is renewed after every iteration."""

    def __init__(self, url: str, directory: Path):
        """`url` is that of the copy, without the ending."""
        self._system, root = open_store(url)
        self._place = f"{root}.zip"
        self.directory = directory

    def fetch(self) -> bool:
        """Make the run directory from the copy, if there is one and no run is here; whether it did.
        A run that is here is at most older, and then repeats what the copy has."""
        if (self.directory / "config.json").exists() or not self._system.exists(self._place):
            return False
        with zipfile.ZipFile(io.BytesIO(self._system.cat_file(self._place))) as archive:
            self.directory.mkdir(parents=True, exist_ok=True)
            for name in (name for name in FILES if name in archive.namelist()):
                with atomic(self.directory / name) as file:
                    file.write(archive.read(name))
        return True

    def keep(self) -> None:
        """Replace the copy by what the run directory holds now."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name in FILES:
                if (self.directory / name).exists():
                    archive.write(self.directory / name, name)
        unfinished = f"{self._place}.part"
        self._system.makedirs(self._place.rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(unfinished, packed.getvalue())
        self._system.mv(unfinished, self._place)

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> None:
        self.keep()


def open_store(url: str) -> tuple[Any, str]:
    """The file system of a URL and the path in it; ValueError if nothing opens such URLs."""
    with needed_from("store", "--store"):
        import fsspec
    try:
        if "://" not in url:
            raise ValueError("expected a URL such as s3://bucket/folder or file:///mount/folder")
        system, root = fsspec.core.url_to_fs(url.rstrip("/"))
    except (ValueError, ImportError, OSError) as error:
        raise ValueError(f"--store is {url}, which cannot be opened: {error}") from error
    return system, str(root)
