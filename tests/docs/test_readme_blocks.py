"""The blocks of the front page, copied one after another, run."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)


def blocks() -> list[tuple[str, str]]:
    """Kind and text of each script, in order; neighbouring Python blocks are one script, as in a
    session. Installing and printed tables are left out."""
    found = [
        ("python" if language else "shell", text)
        for language, text in FENCE.findall(README)
        if language or text.startswith("ilfo ")
    ]
    return [
        (kind, "".join(text for _, text in several))
        for kind, several in itertools.groupby(found, lambda block: block[0])
    ]


def test_the_front_page_has_blocks_of_both_kinds():
    assert [kind for kind, _ in blocks()] == ["shell", "python", "shell"]


@pytest.mark.slow
def test_the_blocks_run_one_after_another(tmp_path, cache_home):
    bin = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(cache_home),
    }
    for kind, text in blocks():
        command = ["bash", "-e", "-c", text] if kind == "shell" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    made = {path.name for path in tmp_path.iterdir()} | {
        f"runs/{path.name}" for path in (tmp_path / "runs").iterdir()
    }
    assert made >= {"cartpole.gif", "agent.npz", "recordings.npz", "runs/demo", "runs/mine"}
    assert (tmp_path / "runs" / "demo" / "report.html").exists()
