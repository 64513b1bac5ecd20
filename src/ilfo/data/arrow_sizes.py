"""What the batches of an Arrow stream declare to need, before any of them is unpacked.

A batch is described by a table of FlatBuffers (Message.fbs of Arrow's format). It lists the length
of every column and where its buffers are in the body. A compressed buffer begins with its size
after unpacking, or -1 where it was kept as it is. A column of nulls has a length and no buffer.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEADER = 2
"""Field of a message: the batch."""
_DATA = 1
"""Field of a dictionary: the batch."""
_COLUMNS, _BUFFERS, _COMPRESSION = 1, 2, 3
"""Fields of a batch."""
_NUMBER = 8
"""Bytes of an entry in memory."""


def declared_size(path: Path) -> int:
    """Bytes that the batches of a stream will take."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        return sum(map(_size, pa.ipc.MessageReader.open_stream(file)))


def _size(message: Any) -> int:
    if message.type not in ("record batch", "dictionary"):
        return 0
    data, body = message.metadata.to_pybytes(), message.body
    batch = _pointed(data, _field(data, _pointed(data, 0), _HEADER))
    if message.type == "dictionary":
        batch = _pointed(data, _field(data, batch, _DATA))
    packed = _field(data, batch, _COMPRESSION) is not None
    needed = sum(_NUMBER * max(length, 0) for length, _ in _pairs(data, batch, _COLUMNS))
    for offset, length in _pairs(data, batch, _BUFFERS):
        starts = packed and length >= _NUMBER
        declared = struct.unpack_from("<q", body, offset)[0] if starts else -1
        needed += max(length if declared < 0 else declared, 0)
    return needed


def _pointed(data: bytes, place: int | None) -> int:
    """Where the offset at this place points to."""
    if place is None:
        raise ValueError("a batch lacks its description")
    return place + struct.unpack_from("<I", data, place)[0]


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is, if the table has it."""
    known = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, known)
    entry = 4 + 2 * number
    offset = struct.unpack_from("<H", data, known + entry)[0] if entry + 2 <= size else 0
    return table + offset if offset else None


def _pairs(data: bytes, table: int, number: int) -> Iterator[tuple[int, int]]:
    """The pairs of integers in a field that lists them."""
    place = _field(data, table, number)
    if place is None:
        return
    start = _pointed(data, place)
    (count,) = struct.unpack_from("<I", data, start)
    yield from struct.iter_unpack("<qq", data[start + 4 : start + 4 + 16 * count])
