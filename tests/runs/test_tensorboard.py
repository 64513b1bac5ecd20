"""Event files for TensorBoard: what is in them, and after a resume."""

import struct
import sys

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from ilfo.common.optional import MissingExtraError
from ilfo.runs.directory import RunDirectory
from ilfo.runs.launch import resume, start
from ilfo.runs.recorder import RETURNS
from ilfo.runs.tensorboard import TensorBoard
from tests.helpers.agents import MACHINE, STEP, small_spec
from tests.helpers.methods import small_baseline


def raw_events(folder):
    """The events of all files in a folder, in the order of the files."""
    for file in sorted(folder.glob("events.*"), key=lambda file: int(file.suffix[1:])):
        data = file.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            yield Event.FromString(data[12 : 12 + length])
            data = data[12 + length + 4 :]


def events(folder):
    """Step, name and value of all scalars."""
    for event in raw_events(folder):
        for value in event.summary.value:
            yield event.step, value.tag, value.simple_value


def test_every_seed_has_its_curves(tmp_path, demos_file, cache_home):
    spec = small_spec(demos_file, 2)
    start(spec, tmp_path / "run", MACHINE, [TensorBoard(tmp_path / "board")])
    rows = RunDirectory.open(tmp_path / "run").rows("metrics")
    for seed in (0, 1):
        written = [e for e in events(tmp_path / "board" / f"seed-{seed}") if e[1] == "mobile/mmd"]
        assert [step for step, *_ in written] == [STEP, 2 * STEP]
        known = [row["mmd"] for row in rows if row["seed"] == seed]
        np.testing.assert_allclose([value for *_, value in written], known, rtol=1e-5)
        tags = [f"mobile/{name}" for name in RETURNS]
        returns = [e[2] for e in events(tmp_path / "board" / f"seed-{seed}") if e[1] in tags]
        measured = [row[name] for row in rows if row["seed"] == seed for name in RETURNS]
        np.testing.assert_allclose(returns, measured, rtol=1e-5)


def test_a_resumed_run_goes_on(tmp_path, demos_file, cache_home):
    spec = small_spec(demos_file, 1)
    start(spec, tmp_path / "run", MACHINE, [TensorBoard(tmp_path / "board")])
    board = TensorBoard(tmp_path / "board")
    resume(tmp_path / "run", MACHINE, [board], total_timesteps=2 * STEP)
    steps = [step for step, tag, _ in events(tmp_path / "board" / "seed-0") if tag == "mobile/mmd"]
    assert steps == [STEP, 2 * STEP]
    # what a killed run wrote after its last checkpoint is hidden
    begun = [e.step for e in raw_events(tmp_path / "board" / "seed-0") if e.HasField("session_log")]
    assert begun == [1, STEP + 1]


def test_several_calls_and_a_method_without_steps(tmp_path):
    agent, board = small_baseline("bc"), TensorBoard(tmp_path)
    agent.learn(callback=board)
    steps = [step for step, tag, _ in events(tmp_path / "seed-0") if tag == "bc/loss"]
    assert steps == list(range(1, agent.iteration + 1))
    for _ in range(2):  # within a second
        board.on_start(agent)
        board.on_iteration(agent, {"online_samples": 0, "iteration": 99, "loss": 1.0})
        board.on_end(agent)
    again = [step for step, tag, _ in events(tmp_path / "seed-0") if tag == "bc/loss"]
    assert again == [*steps, 99, 99]


def test_without_the_extra_it_is_an_error_at_once(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtraError, match=r"TensorBoard needs .*ilfo\[tensorboard\]"):
        TensorBoard(tmp_path)
