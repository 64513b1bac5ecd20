"""What the progress display shows, on a terminal and off it."""

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ilfo.agents.callbacks import Callback
from ilfo.agents.findings import Finding
from ilfo.agents.progress import Progress
from ilfo.methods import METHODS, MobILE

LOG = {
    "iteration": 3,
    "online_samples": 3000,
    "total_timesteps": 30000,
    "mmd": np.array([0.25, 0.75]),
    "model_loss": -1.5,
    "bonus": np.float32(0.125),
    "kl": 0.01,
    "seconds": 10.0,
    "something_else": 1.0,
}


class Learning:
    """What a progress display sees of an agent."""

    iteration, method = 0, MobILE.method

    def __init__(self):
        self.history: dict[str, Any] = {}


def show(*logs: dict[str, Any], terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=terminal, width=60, color_system=None, _environ={"TERM": "xterm"}
    )
    progress = Progress(console)
    progress.on_start(Learning())
    for log in logs:
        progress.on_iteration(MobILE, log)
    progress.on_end(MobILE)
    return file.getvalue()


def test_one_plain_line_per_iteration() -> None:
    text = show(LOG, LOG | {"iteration": 4, "online_samples": 4000, "seconds": 12.0})
    assert text.splitlines() == [
        "iteration 3  samples 3000/30000  MMD to expert 0.5  model loss -1.5  bonus 0.125  "
        "KL 0.01  left -",
        "iteration 4  samples 4000/30000  MMD to expert 0.5  model loss -1.5  bonus 0.125  "
        "KL 0.01  500/s  left 0:00:52",
    ]


def test_a_method_that_takes_no_steps_is_counted_in_iterations() -> None:
    log = {"iteration": 1, "online_samples": 0, "total_iterations": 5, "seconds": 10.0}
    logs = (log, log | {"iteration": 3, "seconds": 12.0})
    plain = show(*logs).splitlines()
    assert plain == ["iteration 1/5    left -", "iteration 3/5    1/s  left 0:00:02"]
    last = show(*logs, terminal=True).rpartition("iteration 3/5  1/s  left 0:00:02")[2]
    assert last.count("━") == 36  # three fifths of 60


def test_missing_values_are_dashes_and_nan_is_not_hidden() -> None:
    text = show({"kl": np.nan, "mmd": None})
    assert text == "iteration -  samples -/-  MMD to expert -  KL nan  left -\n"


@pytest.mark.parametrize("seconds", [10.0, np.nan, None])
def test_time_left_without_progress_is_unknown(seconds: Any) -> None:
    assert show(LOG, LOG | {"seconds": seconds}).splitlines()[1].endswith("left -")


def test_time_left_is_never_negative() -> None:
    done = LOG | {"online_samples": 60000, "seconds": 200.0}
    assert show(LOG, done).endswith("left 0:00:00\n")


def test_live_display_on_a_terminal() -> None:
    text = show(LOG, LOG | {"iteration": 4, "online_samples": 4000, "seconds": 12}, terminal=True)
    assert "\x1b[?25l" in text  # the cursor is hidden while the display lives
    assert text.index("\x1b[?25h") > text.index("\x1b[?25l")
    last = text[text.rindex("iteration 4") :]
    assert "samples 4000/30000  500/s  left 0:00:52" in last
    assert "━" in last.splitlines()[1]
    assert last.splitlines()[2].startswith(
        "MMD to expert 0.5  model loss -1.5  bonus 0.125  KL 0.01"
    )


def test_live_display_before_the_first_iteration() -> None:
    assert "samples -/-" in show(terminal=True)


def test_what_takes_long_is_said_with_the_time_it_has_taken(monkeypatch) -> None:
    for terminal in (False, True):
        file = io.StringIO()
        progress = Progress(Console(file=file, force_terminal=terminal, width=60))
        now = iter([0.0, *[75.0] * 1000])
        monkeypatch.setattr("ilfo.agents.progress.time.monotonic", lambda now=now: next(now))
        progress.on_phase(MobILE, "compiling")
        progress.on_end(MobILE)
        assert ("compiling ... 0:01:15" if terminal else "compiling ...\n") in file.getvalue()


def test_a_distance_is_shown_beside_the_untrained_one() -> None:
    log = LOG | {"mmd_floor": 0.02}
    first, second = show(log | {"iteration": 1, "mmd": 0.9}, log | {"iteration": 2}).splitlines()
    assert "MMD to expert 0.9  floor 0.02" in first
    assert "MMD to expert 0.5 (untrained 0.9)  floor 0.02" in second


def test_findings_are_shown_once() -> None:
    file = io.StringIO()
    progress = Progress(Console(file=file))
    agent = Learning()
    progress.on_phase(agent, "comparing")
    agent.findings = [Finding(True, "states leave the Box")]
    for doing in ("preparing", "compiling"):
        progress.on_phase(agent, doing)
    progress.on_end(agent)
    comparing, found, *rest = file.getvalue().splitlines()
    assert (comparing, found) == ("comparing ...", "wrong: states leave the Box")
    assert rest == ["preparing ...", "compiling ..."]


def test_after_a_resume_the_untrained_distance_is_known() -> None:
    file = io.StringIO()
    progress, agent = Progress(Console(file=file, width=200)), Learning()
    agent.history = {"iteration": np.array([1, 2]), "mmd": np.array([[0.8, 1.0], [0.5, 0.7]])}
    progress.on_start(agent)
    progress.on_iteration(agent, LOG)
    assert "MMD to expert 0.5 (untrained 0.9)" in file.getvalue()


def test_what_was_learned_is_shown_while_it_is_evaluated() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=60, _environ={"TERM": "xterm"})
    progress, agent = Progress(console), Learning()
    progress.on_start(agent)
    progress.on_iteration(agent, LOG)
    progress.on_end(agent)
    file.truncate(0)
    progress.on_phase(agent, "evaluating")
    progress.on_end(agent)
    assert "samples 3000/30000" in file.getvalue()
    assert "evaluating" in file.getvalue()


def test_a_progress_display_can_be_used_again() -> None:
    file = io.StringIO()
    progress = Progress(Console(file=file))
    for _ in range(2):
        progress.on_start(Learning())
        progress.on_iteration(MobILE, LOG)
        progress.on_end(MobILE)
    assert [line.endswith("left -") for line in file.getvalue().splitlines()] == [True, True]


def test_the_base_callback_does_nothing() -> None:
    callback = Callback()
    callback.on_start(None)
    assert callback.on_iteration(None, LOG) is None
    callback.on_end(None)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_shows_metrics_that_it_keeps(method) -> None:
    assert method.method.shown.keys() <= set(method.method.metrics)
