"""What runs where, on a terminal."""

import io
from types import SimpleNamespace

from rich.console import Console

from ilfo.cli.run_table import RunTable


def event(name, state):
    return SimpleNamespace(job=SimpleNamespace(name=name), state=state, where="here", said="")


def test_the_table_says_how_long_it_may_still_take(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    now = [0.0]
    monkeypatch.setattr("ilfo.cli.run_table.time.monotonic", lambda: now[0])
    with RunTable(3, console) as table:
        table.show(event("a", "started"))
        assert table._progress() == "0 of 3 runs done, 0:00:00, -, left -"
        now[0] = 60.0
        table.show(event("a", "done"))
        assert table._progress() == "1 of 3 runs done, 0:01:00, 1/min, left 0:02:00"
        table.show(event("b", "failed"))
        assert table._progress() == "1 of 3 runs done, 1 failed, 0:01:00, 2/min, left 0:00:30"
    shown = console.file.getvalue()
    assert shown.count("1 of 3 runs done") >= 1
    assert "━" * 60 in shown  # a bar as wide as the terminal, two thirds of it filled
