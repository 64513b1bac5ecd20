"""Tiny pickles that ask for any amount of memory or time: each is an error that costs little."""

import io
import json
import os
import pickle  # noqa: TID251, to write what must not be run
import struct
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from ilfo.data.safe_pickle import read_pickle

EPISODE = b"\x80\x04]}\x8c\x07episode"
"""A list that is still open, a dict and its key; what follows is the value."""
CLOSED = b"sa."


def short(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


def called(module: str, name: str, *arguments: bytes) -> bytes:
    return short(module) + short(name) + b"\x93(" + b"".join(arguments) + b"tR"


def large_number(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little")
    return b"\x8a" + bytes([len(data)]) + data


def doubled(times: int, join: bytes) -> bytes:
    """The value on top of the stack, put together with itself again and again."""
    return b"".join(b"\x94h%c" % number + join for number in range(times))


def long_text(size: int) -> bytes:
    return b"X" + struct.pack("<I", size) + b"a" * size


def number_of(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def array_of_type(code: str) -> bytes:
    dtype = called("numpy", "dtype", short(code), b"\x89\x88")
    return called("numpy.core.multiarray", "scalar", dtype, b"C\x08" + bytes(8))


EMPTY_AXIS = called(
    "numpy.core.numeric",
    "_frombuffer",
    b"C\x00",
    called("numpy", "dtype", short("f8"), b"\x89\x88"),
    b"\x8a\x06" + (10**13).to_bytes(6, "little") + b"K\x00\x86",
    short("C"),
)

STATES = called(
    "numpy.core.numeric",
    "_frombuffer",
    b"C\x10" + bytes(16),
    called("numpy", "dtype", short("f8"), b"\x89\x88"),
    b"K\x02K\x01\x86",
    short("C"),
)

HOSTILE: dict[str, Callable[[], bytes]] = {
    "bytes with an argument": lambda: (
        b"\x80\x02c__builtin__\nbytes\n" + large_number(8 * 10**9) + b"\x85R."
    ),
    "tuples shared": lambda: EPISODE + b"K\x01" + doubled(80, b"\x86") + CLOSED,
    "lists shared": lambda: EPISODE + b"K\x01" + doubled(40, b"\x86\x85") + CLOSED,
    "a name of tuples shared": lambda: b"\x80\x04K\x01" + doubled(100, b"\x86") + b"\x8c\x01x\x93.",
    "a call of tuples shared": lambda: b"\x80\x04K\x01" + doubled(100, b"\x86") + b")R.",
    "a codec of tuples shared": lambda: (
        b"\x80\x04c_codecs\nencode\n\x8c\x01aK\x01" + doubled(100, b"\x86") + b"\x86R."
    ),
    "a name doubled": lambda: b"\x80\x04" + short("a" * 100) + doubled(40, b"\x93") + b".",
    "marks": lambda: b"\x80\x04" + b"(" * 100_000 + b"0",
    "marks that are closed": lambda: b"\x80\x04" + b"K\x01" * 50_000 + b"(t" * 50_000 + b".",
    "equal hashes": lambda: (
        b"\x80\x04}("
        + b"".join(large_number(n * (2**61 - 1)) + b"N" for n in range(1, 30_000))
        + b"u."
    ),
    "equal hashes of tuples": lambda: (
        b"\x80\x04}(" + b"".join(number_of(n) + b"\x85N" for n in range(30_000)) + b"u."
    ),
    "equal hashes of places": lambda: (
        b"\x80\x02N" + b"".join(b"p%d\n" % (n * (2**61 - 1)) for n in range(1, 20_000)) + b"."
    ),
    "deep": lambda: EPISODE + b"K\x01" + b"\x85" * 150_000 + CLOSED,
    "a deep key": lambda: b"\x80\x04}K\x01" + b"\x85" * 150_000 + b"Ns.",
    "dtype of a comma": lambda: EPISODE + array_of_type(",") + CLOSED,
    "dtype that is large": lambda: EPISODE + array_of_type("V2000000000") + CLOSED,
    "a length": lambda: b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc.",
    "an axis without numbers": lambda: EPISODE + EMPTY_AXIS + b"\x94h\x00h\x00\x87" + CLOSED,
    "text as numbers": lambda: (
        EPISODE + b"](" + long_text(100_000) + b"\x8c\x01x\x94" + b"h\x00" * 20_000 + b"e" + CLOSED
    ),
    "text as a return": lambda: (
        b"\x80\x04]("
        + b"".join(
            b"}(" + short("episode") + STATES + short("ep_rew") + what + b"u"
            for what in [long_text(100_000), *[b"K\x01"] * 2000]
        )
        + b"e."
    ),
    "bytes made again": lambda: (
        b"\x80\x04c_codecs\nencode\n\x94"
        + long_text(100_000)
        + b"\x94"
        + short("latin1")
        + b"\x94"
        + b"h\x00h\x01h\x02\x86R" * 30_000
        + b"."
    ),
    "a dict made again": lambda: (
        b"\x80\x04ccollections\nOrderedDict\n\x94]\x94("
        + b"".join(number_of(n) + b"N\x86" for n in range(20_000))
        + b"e"
        + b"h\x00h\x01\x85R" * 20_000
        + b"."
    ),
    "empty dicts": lambda: b"\x80\x04" + b"}" * 300_000 + b".",
}

CHILD = """
import json, resource, sys, time
from pathlib import Path
from ilfo.data.demonstrations import DemonstrationError, Demonstrations

resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
memory = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
for path in map(Path, sys.argv[1:]):
    before, began = memory(), time.process_time()
    try:
        Demonstrations.from_episodes(path, horizon=10**15, terminal=False)
        said = None
    except DemonstrationError as error:
        said = str(error)
    spent = time.process_time() - began
    print(json.dumps([path.stem, said, spent, memory() - before]), flush=True)
"""


def test_hostile_pickles_cost_little(tmp_path):
    files = []
    for name, make in HOSTILE.items():
        files.append(tmp_path / f"{name}.pkl")
        files[-1].write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == list(HOSTILE), done.stderr
    for name, said, seconds, megabytes in lines:
        assert said is not None, f"{name} was read"
        assert len(said) < 500, name
        assert seconds < 1, f"{name} took {seconds:.1f} s"
        assert megabytes < 200, f"{name} took {megabytes:.0f} MB"


@pytest.mark.parametrize("protocol", range(6))
def test_recordings_stay_within_the_limits(protocol):
    """Also those of plain lists, and of arrays that are shared."""
    flags = [step == 999 for step in range(1000)]
    states = np.zeros((1000, 3))
    plain = {"episode": ([[0.5, 1.5]] * 1000, [1] * 1000, states, states, flags)}
    episodes = [plain, *({"episode": states, "info": {"steps": n, 1: None}} for n in range(200))]
    read = read_pickle(io.BytesIO(pickle.dumps(episodes, protocol)))
    assert read[0]["episode"][0] == plain["episode"][0]
    assert read[0]["episode"][4] == flags
    assert len(read) == 201
    np.testing.assert_array_equal(read[-1]["episode"], states)
    assert read[-1]["info"] == {"steps": 199, 1: None}
