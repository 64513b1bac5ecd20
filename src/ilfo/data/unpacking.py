"""How much a compressed file may unpack to.

Compression can make a gigabyte of zeros a megabyte. Nobody who opens a small file expects that, so
a file says beforehand how large it will be, and one that grows beyond measure is refused.
"""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SMALL = 64 * 2**20
"""Bytes that any file may unpack to."""
RATIO = 100
"""A larger file may unpack to this many times its size."""

_NUMBER = 8
"""Bytes of an entry in memory, where the file does not say how long entries are."""


class UnpackedSizeError(ValueError):
    """A file would unpack to far more than its size."""


def grows_beyond_measure(unpacked: int, size: int) -> bool:
    return unpacked > max(SMALL, RATIO * size)


def check_unpacked(path: Path, members: Iterable[zipfile.ZipInfo]) -> None:
    """Raise UnpackedSizeError if these members of an archive declare far too large a size."""
    check_size(path, sum(member.file_size for member in members))


def check_parquet(path: Path, metadata: Any) -> None:
    """The same of a Parquet file, whose encodings can repeat a value any number of times."""
    check_size(path, parquet_size(metadata))


def parquet_size(metadata: Any) -> int:
    """Bytes that the columns of a Parquet file take. An entry of text is counted once, however
    often it is repeated, so whoever reads text must not copy it for every row."""
    columns = range(metadata.num_columns)
    widths = [metadata.schema.column(index).length or _NUMBER for index in columns]
    total = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for index in columns:
            part = group.column(index)
            total += max(part.num_values * widths[index], part.total_uncompressed_size)
    return total


def check_size(path: Path, unpacked: int) -> None:
    size = path.stat().st_size
    if grows_beyond_measure(unpacked, size):
        raise UnpackedSizeError(
            f"its {size / 2**20:.3g} MiB unpack to {unpacked / 2**20:,.0f} MiB, more than "
            f"{RATIO} times as much"
        )
