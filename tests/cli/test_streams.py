"""Whatever the commands write to, they end with an exit code and at most one line."""

import os
import pty
import signal
import subprocess
import sys

import pytest

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}


def ilfo(*arguments: str, end: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        ["sh", "-c", f'"$@" {end}', "sh", sys.executable, "-m", "ilfo", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path} | environment,
    )


@pytest.mark.parametrize("command", ["tasks", "settings"])
def test_an_ascii_locale_can_show_everything(command):
    done = ilfo(command, **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert r"\u03b8" in done.stdout or r"\u03bb" in done.stdout


def test_closed_and_full_outputs():
    done = ilfo("tasks", end=">&-")
    assert (done.returncode, done.stderr) == (0, "")
    done = ilfo("tasks", end=">/dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: [Errno 28] No space left on device\n"
    done = ilfo("train", "--task", "chess", end=">&- 2>&-")
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demos", "record", "--env", "CartPole-v1", "--policy", ".rel:f"], "no function .rel:f"),
        (["demos", "record", "--env", ".x:Y", "--policy", "math:sin"], "environment '.x:Y'"),
    ],
)
def test_relative_modules_are_refused(arguments, message, tmp_path):
    done = ilfo(*arguments, "--out", str(tmp_path / "a.npz"))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


SHOWING = """
import time
from rich.live import Live
from ilfo.cli import main, train
from ilfo.cli.console import console

def start(*_):
    print("ready", flush=True)
    time.sleep(60)

train.start = start
main(["train", "--out", "nowhere"])
"""


def test_sigterm_gives_the_cursor_back(tmp_path):
    """On a terminal, where the progress display hides it."""
    ours, theirs = pty.openpty()
    path = os.pathsep.join(filter(None, sys.path))
    shown = b""
    with subprocess.Popen(
        [sys.executable, "-c", SHOWING],
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "TERM": "xterm", "XDG_CACHE_HOME": str(tmp_path)},
    ) as process:
        os.close(theirs)
        while b"ready" not in shown:
            shown += os.read(ours, 1024)
        process.send_signal(signal.SIGTERM)
        try:
            while more := os.read(ours, 1024):
                shown += more
        except OSError:  # the other end is closed
            pass
    hide, show = b"\x1b[?25l", b"\x1b[?25h"
    assert process.returncode == 143
    assert shown.count(hide) == 1
    assert shown.rindex(show) > shown.index(hide)
    assert b"stopped; no iteration was finished" in shown


COLLECTING = """
import gc, signal, time
from ilfo.cli import main, train

def interrupt(phase, _):
    if phase == "start":
        gc.callbacks.remove(interrupt)
        signal.raise_signal(signal.SIGINT)

def start(*_):
    gc.callbacks.append(interrupt)
    gc.collect()
    time.sleep(60)
    print("went on")

train.start = start
main(["train", "--out", "nowhere"])
"""


def test_ctrl_c_is_heard_while_garbage_is_collected(tmp_path):
    """Python drops exceptions there."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTING],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert done.returncode == 130
    assert "stopped; no iteration was finished" in done.stdout
    assert "went on" not in done.stdout
    assert done.stderr == ""
