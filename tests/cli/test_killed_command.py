"""The command as it is typed, on two devices: killed without warning, resumed, the same bytes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.agents import CHANGES, HORIZON, STEP

ITERATIONS, KILLED_AT, SEEDS = 6, 3, 2

COMMAND = """
import runpy
runpy.run_module("ilfo", run_name="__main__")
"""
# Two devices whatever the machine has: seeds that share one would take turns.
DEVICES = ("--devices", "2")
# Time to be killed in, between the rows of an iteration and its checkpoints and behind them.
SLOWLY = """
import time
from ilfo.storage import checkpoint
save = checkpoint.save

def slow_save(path, *args):
    time.sleep(0.3)
    save(path, *args)
    time.sleep(0.3)

checkpoint.save = slow_save
"""


def training(demos: Path, out: Path) -> list[str]:
    options = {
        "--env": "CartPole-v1",
        "--demos": demos,
        "--horizon": HORIZON,
        "--seeds": SEEDS,
        "--total-timesteps": ITERATIONS * STEP,
        "--out": out,
    }
    return [
        "train",
        *DEVICES,
        *(str(x) for pair in options.items() for x in pair),
        "--set",
        *CHANGES,
    ]


def run_to_the_end(arguments: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr


def kill_in_the_middle(arguments: list[str], run: Path, environment: dict[str, str]) -> None:
    """On seeing the last seed's row of an iteration."""
    table, deadline = run / "metrics.csv", time.monotonic() + 300
    child = subprocess.Popen(
        [sys.executable, "-c", SLOWLY + COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    try:
        while not (table.exists() and f"\n{KILLED_AT},{SEEDS - 1}," in table.read_text()):
            assert child.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        child.kill()
        child.wait()


@pytest.mark.slow
def test_two_seeds_on_two_devices_survive_a_kill(cache_home, demos_file, tmp_path):
    environment = os.environ | {
        "XDG_CACHE_HOME": str(cache_home),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    environment.pop("XLA_FLAGS", None)  # compiled as users have it, not as the other tests
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_to_the_end(training(demos_file, whole), environment)
    kill_in_the_middle(training(demos_file, killed), killed, environment)

    expected, before = (run.joinpath("metrics.csv").read_bytes() for run in (whole, killed))
    assert expected.count(b"\n") == 1 + ITERATIONS * SEEDS
    assert expected.startswith(before)
    assert len(before) < len(expected)
    assert not (killed / "summary.json").exists()

    run_to_the_end(["resume", str(killed), *DEVICES], environment)
    assert (killed / "metrics.csv").read_bytes() == expected
    read = lambda run, name: json.loads((run / name).read_text())
    assert read(killed, "summary.json")["seeds"] == read(whole, "summary.json")["seeds"]
    assert read(killed, "config.json")["machine"]["devices"] == 2
