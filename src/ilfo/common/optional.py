"""Libraries that only some uses need, installed by a name in brackets: ilfo[parquet]."""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtraError(ImportError):
    """Something was asked for that needs a library which is not installed."""


@contextmanager
def needed_from(extra: str, use: str) -> Iterator[None]:
    """Around an import: when it fails, says what needs it and how to install it."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"{use} needs {error.name}; install it with: pip install 'ilfo[{extra}]'"
        ) from error
