"""Progress of work in parts."""

import io
import re

import pytest
from rich.console import Console

from ilfo.common.tally import COMPILING, SILENT, Tally, pace, tallied, time_left


def plain() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=100)


def test_plain_lines_count_and_name_the_parts():
    console = plain()
    with Tally("runs", 2, console) as tally:
        tally.done("hopper-1")
        tally.done("hopper-2")
    begun, first, last = console.file.getvalue().splitlines()
    assert begun == "0 of 2 runs ..."
    assert re.fullmatch(r"hopper-1  1 of 2 runs  \d+/s  left 0:00:0\d", first)
    assert re.fullmatch(r"hopper-2  2 of 2 runs  \d+/s  left 0:00:00", last)


def test_what_comes_first_is_said_at_once():
    console = plain()
    with Tally("rounds", 3, console, first="compiling"):
        assert console.file.getvalue() == "0 of 3 rounds  compiling ...\n"
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Tally("rounds", 3, console, first="compiling"):
        assert "rounds, compiling" in console.file.getvalue()


@pytest.mark.parametrize(
    ("count", "seconds", "text"),
    [(500, 1, "500/s"), (1, 2, "30/min"), (1, 120, "30/h"), (0, 3, "-"), (3, 0, "-")],
)
def test_a_pace_is_in_units_that_can_be_read(count, seconds, text):
    assert pace(count, seconds) == text


def test_time_left():
    assert time_left(2, 6, 60) == "0:02:00"
    assert time_left(0, 6, 60) == "-"


def test_a_terminal_gets_a_bar_below_what_is_printed():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    for part in tallied("studies", "ab", console):
        console.print(f"part {part}")
    text = console.file.getvalue()
    assert "part a" in text
    assert "2/2" in text
    assert "studies" in text
    assert "/s" in text


def test_what_may_end_early_says_so_and_counts_in_larger_portions():
    console = plain()
    with Tally("samples", 1000, console, at_most=True) as tally:
        tally.done("return 3 of 5", 400)
        tally.done("return 5 of 5", 700)
    _, first, last = console.file.getvalue().splitlines()
    assert re.match(r"return 3 of 5  400 of 1000 samples  \d+/s  left at most 0:00:0", first)
    assert last.endswith("left at most 0:00:00")


def test_parts_of_which_nothing_is_said_are_counted_in_silence_for_a_while():
    console = plain()
    with Tally("steps", 100, console) as tally:
        tally.advance(10)
        tally._said -= SILENT
        tally.advance(10)
        tally.advance(10)
        tally.done("greedy 3.5", parts=0)
    _, later, last = console.file.getvalue().splitlines()
    assert later.startswith("20 of 100 steps")
    assert last.startswith("greedy 3.5  30 of 100 steps")


def test_on_a_terminal_parts_of_which_nothing_is_said_move_the_bar():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Tally("steps", 100, console) as tally:
        tally.advance(10)
        tally._bar.refresh()
    assert "10/100" in console.file.getvalue()


def test_on_a_terminal_what_is_said_stands_above_the_bar():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Tally("rounds", 2, console) as tally:
        tally.done("steps 20000  greedy 3.5")
    text = console.file.getvalue()
    assert "steps 20000  greedy 3.5" in text
    assert "1/2" in text
    assert "left" in text


def test_after_one_part_a_bar_knows_the_time_left():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with Tally("rounds", 3, console) as tally:
        assert "left -:--:--" in console.file.getvalue()
        tally._began -= 10
        tally.done()
        tally._bar.refresh()
    assert re.search("6/min 0:00:00 left 0:00:30", console.file.getvalue())


def test_in_a_narrow_terminal_no_number_is_cut():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with Tally("samples", 5_000_000, console, at_most=True, first=COMPILING) as tally:
        tally.done(parts=4_000_000)
    text = console.file.getvalue()
    assert "0/5000000" in text
    assert "4000000/5000000" in text
    assert "compiling first" in text
    assert "…" not in text


def test_nothing_to_do_shows_nothing():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    assert list(tallied("runs", [], console)) == []
    assert console.file.getvalue() == ""


def test_a_failing_part_gives_the_terminal_back():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    try:
        for _ in tallied("runs", range(3), console):
            raise KeyError
    except KeyError:
        pass
    assert console.show_cursor(True)
    assert "\x1b[?25h" in console.file.getvalue()  # the cursor is shown again
