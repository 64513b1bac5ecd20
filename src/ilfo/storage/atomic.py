"""Files that are either the old version or the new one, never something in between.

A crash, a kill or a full disk while writing leaves the previous file untouched. What may stay
behind is a temporary file; it is never read, and `remove_leftovers` deletes it.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_TEMPORARY = ".ilfo-tmp"


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that appears at `path`, replacing what was there, when the block ends well."""
    path = Path(path)
    # The same directory, because only a rename within one file system is atomic. Not `tempfile`,
    # whose files are private to the user whatever the umask says.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{_TEMPORARY}")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode("utf-8"))


def remove_leftovers(directory: Path) -> None:
    """Delete what killed writers left in `directory`; only safe while nobody else writes there."""
    for leftover in directory.glob(f".*{_TEMPORARY}"):
        leftover.unlink(missing_ok=True)


def is_temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(_TEMPORARY)


def _sync_directory(directory: Path) -> None:
    # The rename itself lives in the directory, which has its own place in the disk's cache.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_new(path: Path) -> None:
    """A file can be made there, and none would be overwritten; to be asked before any work."""
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose another file")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
