"""Event files for TensorBoard: what is in them, and after a resume."""

import struct
import sys

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from ilfo.common.optional import MissingExtraError
from ilfo.runs.directory import RunDirectory
from ilfo.runs.launch import resume, start
from ilfo.runs.tensorboard import TensorBoard
from tests.helpers.agents import MACHINE, STEP, small_spec


def events(folder):
    """The scalars of all event files in a folder, in the order of the files."""
    for file in sorted(folder.glob("events.*")):
        data = file.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + length])
            data = data[12 + length + 4 :]
            yield from (
                (event.step, value.tag, value.simple_value) for value in event.summary.value
            )


def test_every_seed_has_its_curves(tmp_path, demos_file, cache_home):
    spec = small_spec(demos_file, 2)
    start(spec, tmp_path / "run", MACHINE, [TensorBoard(tmp_path / "board")])
    rows = RunDirectory.open(tmp_path / "run").rows("metrics")
    for seed in (0, 1):
        written = [e for e in events(tmp_path / "board" / f"seed-{seed}") if e[1] == "mobile/mmd"]
        assert [step for step, *_ in written] == [STEP, 2 * STEP]
        known = [row["mmd"] for row in rows if row["seed"] == seed]
        np.testing.assert_allclose([value for *_, value in written], known, rtol=1e-5)


def test_a_resumed_run_goes_on(tmp_path, demos_file, cache_home):
    spec = small_spec(demos_file, 1)
    start(spec, tmp_path / "run", MACHINE, [TensorBoard(tmp_path / "board")])
    board = TensorBoard(tmp_path / "board")
    resume(tmp_path / "run", MACHINE, [board], total_timesteps=2 * STEP)
    steps = [step for step, tag, _ in events(tmp_path / "board" / "seed-0") if tag == "mobile/mmd"]
    assert sorted(steps) == [STEP, 2 * STEP]


def test_without_the_extra_it_is_an_error_at_once(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtraError, match=r"TensorBoard needs .*ilfo\[tensorboard\]"):
        TensorBoard(tmp_path)
