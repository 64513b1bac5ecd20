"""Every `ilfo` command that a page shows is one that the command line understands."""

import re
import shlex
from pathlib import Path

import pytest

from ilfo.cli import parse

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```", re.M | re.S)


def shown() -> list[str]:
    """In fenced blocks without a language, one per line; each once, without its comment."""
    lines = [
        line.partition(" #")[0].strip()
        for page in PAGES
        for block in FENCE.findall(page.read_text())
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return sorted({line for line in lines if line.startswith("ilfo ")})


@pytest.mark.parametrize("line", shown())
def test_command_is_understood(line: str) -> None:
    assert hasattr(parse(shlex.split(line)[1:]), "run")
