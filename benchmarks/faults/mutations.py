"""Ways to damage a file: bytes, tokens of text, and the contents of archives."""

import io
import random
import re
import struct
import zipfile

NUMBERS = (
    b"0",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 400,
    b"9" * 5000,
    b"",
    b"null",
    b'"x"',
    b"[]",
    b"{}",
)
"""What a number in a text may become."""
INTEGERS = (0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
DEEP = b"[" * 5_000


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The data with one to three things wrong."""
    ways = [_bits, _bytes, _cut, _deleted, _repeated, _integer, _moved, _zeros]
    if data[:1] in (b"{", b"[") or (b"\n" in data[:200] and b"\x00" not in data[:200]):
        ways += [_number, _number, _line, _deep]
    if data[:2] == b"PK":
        ways += [_member] * 8
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = rng.choice(ways)(data, rng) if data else b"\x00"
    return data


def _place(data: bytes, rng: random.Random) -> int:
    # headers and directories are at the ends
    share = rng.choice((0.02, 1.0))
    place = int(rng.random() * share * len(data))
    return min(place if rng.random() < 0.5 else len(data) - 1 - place, len(data) - 1)


def _bits(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[_place(data, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _bytes(data: bytes, rng: random.Random) -> bytes:
    place, size = _place(data, rng), rng.randint(1, 8)
    return data[:place] + rng.randbytes(size) + data[place + size :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: _place(data, rng)]


def _deleted(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + data[place + rng.randint(1, 64) :]


def _repeated(data: bytes, rng: random.Random) -> bytes:
    place, size = _place(data, rng), rng.randint(1, 256)
    return data[:place] + data[place : place + size] * rng.randint(2, 50) + data[place + size :]


def _integer(data: bytes, rng: random.Random) -> bytes:
    place, value = _place(data, rng), rng.choice(INTEGERS)
    form = rng.choice("BHIQ")
    size = struct.calcsize(form)
    written = (value % 2 ** (8 * size)).to_bytes(size, rng.choice(("little", "big")))
    return data[:place] + written + data[place + size :]


def _moved(data: bytes, rng: random.Random) -> bytes:
    start, place, size = _place(data, rng), _place(data, rng), rng.randint(1, 512)
    return data[:place] + data[start : start + size] + data[place + size :]


def _zeros(data: bytes, rng: random.Random) -> bytes:
    place, size = _place(data, rng), rng.randint(1, 4096)
    return data[:place] + bytes(min(size, len(data) - place)) + data[place + size :]


def _number(data: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"-?\d[\d.e+-]*", data))
    if not found:
        return data + b"9"
    chosen = rng.choice(found)
    return data[: chosen.start()] + rng.choice(NUMBERS) + data[chosen.end() :]


def _line(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    chosen = rng.randrange(len(lines))
    if rng.random() < 0.5:
        del lines[chosen]
    else:
        lines.insert(rng.randrange(len(lines)), lines[chosen])
    return b"\n".join(lines)


def _deep(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + DEEP + data[place:]


def _member(data: bytes, rng: random.Random) -> bytes:
    """An archive with a damaged member, whose checksum is right."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return _bits(data, rng)
    if not members:
        return _bits(data, rng)
    chosen = rng.choice(list(members))
    content = members.pop(chosen)
    what = rng.random()
    if what < 0.8:
        members[chosen] = mutated(content, rng) if content else b"\x00"
    elif what < 0.9:
        members[chosen + "x"] = content
    packed = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, held in members.items():
            archive.writestr(name, held)
    return packed.getvalue()
