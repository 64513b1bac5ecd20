"""Compiled code is kept where only the user may write, and training does without it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ilfo.runs import machine

SET_UP = """
import jax
from ilfo.cli.streams import prepared_streams
from ilfo.runs import machine
with prepared_streams():
    print(machine.set_up(1)["devices"])
print(jax.config.jax_compilation_cache_dir)
"""


def set_up(home: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", SET_UP],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_CACHE_HOME": str(home), "PYTHONPATH": path},
    )


def test_without_a_place_for_the_cache_there_is_one_warning(tmp_path):
    (tmp_path / "file").touch()
    done = set_up(tmp_path / "file")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1", "None"]
    assert done.stderr.startswith("warning: compiled code is not kept for the next run: ")
    assert "XDG_CACHE_HOME" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_cache_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert stat.S_IMODE(machine.cache_directory().stat().st_mode) == 0o700


def test_a_user_without_a_home_has_no_cache(tmp_path, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.warns(UserWarning, match="compiled code is not kept"):
        machine._keep_compiled_code()
