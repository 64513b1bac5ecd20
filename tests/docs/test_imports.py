"""Imports that pages show must work."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.M | re.S)


def imports() -> list[str]:
    """Every import of ilfo in a block of Python, once."""
    lines = {
        ast.unparse(node)
        for page in PAGES
        for block in BLOCK.findall(page.read_text())
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "ilfo"
    }
    return sorted(lines)


def test_the_pages_import_something():
    assert len(imports()) > 10


@pytest.mark.parametrize("line", imports())
def test_an_import_works(line):
    exec(line, {})
