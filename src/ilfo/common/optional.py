"""Optional dependencies, installed as extras: `pip install 'ilfo[parquet]'`."""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtraError(ImportError):
    """A feature needs an optional library that is not installed."""


@contextmanager
def needed_from(extra: str, use: str) -> Iterator[None]:
    """Wraps an import. If it fails, the error says what needs the library and how to install it."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"{use} needs {error.name}; install it with: pip install 'ilfo[{extra}]'"
        ) from error
