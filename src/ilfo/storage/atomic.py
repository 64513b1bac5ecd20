"""Atomic file writes: a file holds either its old content or its new content, never a mixture.

A crash, a kill or a full disk while writing leaves the previous file untouched. A temporary file
may remain; it is never read, and `remove_leftovers` deletes it.
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
    """Open a binary file that replaces `path` when the block ends without an exception."""
    path = Path(path)
    # The same directory, because only a rename within one file system is atomic. Not `tempfile`,
    # whose files are private to the user whatever the umask says.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{_TEMPORARY}")
    try:
        with naming(path, temporary):
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let the errors of writing a file name it; that of a full disk does not by itself."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename in (None, temporary, str(temporary))
        if error.errno is None or not unnamed:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Atomically write a text file in UTF-8."""
    with atomic(path) as file:
        file.write(text.encode("utf-8"))


def remove_leftovers(directory: Path) -> None:
    """Delete temporary files of killed processes; only safe while no other process writes there."""
    for leftover in directory.glob(f".*{_TEMPORARY}"):
        leftover.unlink(missing_ok=True)


def is_temporary(path: Path) -> bool:
    """Whether this is a temporary file of an atomic write."""
    return path.name.startswith(".") and path.name.endswith(_TEMPORARY)


def _sync_directory(directory: Path) -> None:
    # The rename is an entry of the directory, which has to be flushed to disk by itself.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_new(path: Path) -> None:
    """Raise an error if a new file cannot be written to `path`; call it before long work."""
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose another file")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name}: there is no folder {path.parent}; create it first"
        )
