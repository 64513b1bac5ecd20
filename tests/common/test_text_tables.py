"""Tables on a terminal."""

import io

import pytest
from rich.console import Console

from ilfo.common.text_tables import print_table

ROWS = [["environment", "stochastic return"], ["ilfo/Hopper-v0 at noon", "1.25 [1.0, 1.5]"]]


@pytest.mark.parametrize(
    ("width", "wrap", "lines"),
    [(60, True, 5), (40, True, 7), (27, True, 4), (10, True, 4), (10, False, 5)],
)
def test_no_word_is_broken_and_no_cell_is_cut(width, wrap, lines):
    console = Console(file=io.StringIO(), width=width)
    print_table(console, ROWS, wrap=wrap)
    text = console.file.getvalue()
    assert all(word in text for row in ROWS for cell in row for word in cell.split())
    assert len(text.splitlines()) == lines
    assert console.width == width
    if width >= 27:
        assert max(map(len, text.splitlines())) <= width
