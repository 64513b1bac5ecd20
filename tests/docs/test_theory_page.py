"""docs/theory.md includes tables of the recorded studies by line numbers."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory.md").read_text()
INCLUDED = re.findall(r'^--8<-- "(results/studies/\w+/tables\.md):(\d+):(\d+)"$', PAGE, re.M)


def test_every_table_of_every_study_is_included():
    tables = [
        line
        for path in (ROOT / "results" / "studies").glob("*/tables.md")
        for line in path.read_text().splitlines()
        if line.startswith("## ")
    ]
    assert len(INCLUDED) == len(tables) == PAGE.count("--8<--")


@pytest.mark.parametrize(("path", "first", "last"), INCLUDED)
def test_the_lines_are_one_whole_table(path, first, last):
    lines = ["", *(ROOT / path).read_text().splitlines(), ""]
    first, last = int(first), int(last)
    assert lines[first - 2].startswith("## ")
    assert all(line.startswith("|") for line in lines[first : last + 1])
    assert lines[last + 1] == ""
