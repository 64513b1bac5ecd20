"""`ilfo bench` as it is typed, on a sweep of one tiny cell: killed, run again, shown."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.cli.test_killed_command import SLOWLY

ITERATIONS, KILLED_AT, SEEDS = 3, 1, 2

# What the command starts for every seed must know the sweep, too.
PROGRAM = f"""
import runpy
import sys
from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import SWEEPS
from tests.helpers.methods import demonstrations, method_spec
sys.executable = sys.argv.pop(1)
spec = method_spec("bco", "", {ITERATIONS}, seeds={SEEDS})
SWEEPS["tiny"] = (Cell("cell", spec, demonstrations),)
module = sys.argv.pop(2)
del sys.argv[1]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


class Command:
    """`ilfo`, with one more sweep."""

    def __init__(self, folder, cache_home, before: str = ""):
        folder.mkdir()
        program, tool = folder / "program.py", folder / "tool"
        program.write_text(before + PROGRAM)
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$0" "$@"\n')
        tool.chmod(0o755)
        self._tool = tool
        self._environment = os.environ | {
            "XDG_CACHE_HOME": str(cache_home),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }

    def start(self, *arguments) -> subprocess.Popen:
        return subprocess.Popen(
            [str(self._tool), "-m", "ilfo", "bench", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
        )

    def __call__(self, *arguments) -> str:
        process = self.start(*arguments)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        return said


def curves(results):
    """By seed, without the time that they took."""
    records = [json.loads(path.read_text()) for path in sorted((results / "tiny").glob("*.json"))]
    strip = lambda row: {name: value for name, value in row.items() if name != "seconds"}
    return [([strip(row) for row in record["curve"]], record["result"]) for record in records]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends orphans")
def test_a_sweep_that_is_killed_goes_on_where_it_was(tmp_path, cache_home):
    ilfo = Command(tmp_path / "plain", cache_home)
    slow = Command(tmp_path / "slow", cache_home, SLOWLY)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    where = lambda folder: ("--results", folder, "--runs", folder / "runs")

    said = ilfo("run", "tiny", *where(whole))
    assert all(f"cell-{seed}  " in said for seed in range(SEEDS))
    assert f"{SEEDS} of {SEEDS} runs" in said

    table, deadline = killed / "runs" / "tiny" / "cell-0" / "metrics.csv", time.monotonic() + 300
    with slow.start("run", "tiny", *where(killed)) as process:
        while not (table.exists() and f"\n{KILLED_AT}," in table.read_text()):
            assert process.poll() is None, "the sweep ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    assert not list(killed.glob("tiny/*.json"))

    ilfo("run", "tiny", *where(killed))
    assert curves(killed) == curves(whole)
    assert len(curves(whole)) == SEEDS
    assert [len(curve) for curve, _ in curves(whole)] == [ITERATIONS] * SEEDS
    assert "starts" not in ilfo("run", "tiny", *where(killed))

    rows = ilfo("table", "tiny", "--results", killed, "--markdown").splitlines()
    (row,) = (row for row in rows if row.startswith("| cell | 2 |"))
    assert "[" not in row  # two seeds make no interval
    pictures = tmp_path / "pictures"
    ilfo("plot", "tiny", "--results", killed, "--out", pictures)
    assert len(list(pictures.glob("*.png"))) == 4
