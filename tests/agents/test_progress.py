"""What the progress display shows, on a terminal and off it."""

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ilfo.agents.callbacks import Callback
from ilfo.agents.findings import Finding
from ilfo.agents.progress import FIRST_ITERATION, Progress
from ilfo.environments.tasks import find_task
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

    iteration, online_samples, samples_per_iteration, method = 0, 0, 1000, MobILE.method

    seeds, settings = (0,), None

    def __init__(self, exploring: int = 0):
        self.history: dict[str, Any] = {}
        self.goal = {"total_timesteps": 30000}
        self.exploring_iterations = exploring


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
    file = io.StringIO()
    progress = Progress(
        Console(file=file, force_terminal=True, width=60, _environ={"TERM": "xterm"})
    )
    progress.doing("reading the recordings")
    assert "starting  left -" in file.getvalue()
    progress.on_phase(Learning(), "compiling")
    progress.on_end(None)
    assert "iteration 0  samples 0/30000  left -" in file.getvalue()
    assert "compiling ... 0:00:00" in file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_rate_and_time_left_are_known_after_one_iteration(monkeypatch, terminal) -> None:
    now = [0.0]
    monkeypatch.setattr("ilfo.agents.progress.time.monotonic", lambda: now[0])
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=150, _environ={"TERM": "xterm"})
    progress, agent = Progress(console), Learning()
    progress.on_start(agent)
    progress.on_phase(agent, "compiling")
    now[0] = 40.0
    progress.on_phase(agent, FIRST_ITERATION)
    now[0] = 50.0
    progress.on_iteration(agent, LOG | {"iteration": 1, "online_samples": 1000, "seconds": 53.0})
    progress.on_end(agent)
    text = file.getvalue()
    assert "100/s  left 0:04:50" in text  # 29 more, each of 10 s
    if not terminal:
        assert "first iteration ...  (compiling: 0:00:40)\n" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_that_the_untrained_policy_acts_on_purpose_is_said(terminal) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=200, _environ={"TERM": "xterm"})
    progress, agent = Progress(console), Learning(exploring=2)
    progress.on_start(agent)
    assert (
        "in the first 2 iterations (2000 environment steps) the untrained policy acts, on purpose"
        in file.getvalue()
    )
    for number in (1, 2, 3):
        file.truncate(0)
        progress.on_iteration(agent, LOG | {"iteration": number})
        said = f"(untrained policy acted, on purpose: {number} of 2)" in file.getvalue()
        assert said is (number < 3)
    progress.on_end(agent)


@pytest.mark.parametrize(
    ("name", "shorter"), [("bco", {"explore": 1}), ("mobile", {"inference.explore": 100})]
)
def test_how_to_let_the_untrained_policy_act_less_is_said(name, shorter) -> None:
    demonstrations = find_task("cartpole").load(2)
    said = []
    for changes in ({}, shorter):
        file = io.StringIO()
        agent = METHODS[name]("CartPole-v1", demonstrations, changes, horizon=50)
        Progress(Console(file=file)).on_start(agent)
        said.append(file.getvalue())
    assert agent.exploring_iterations == 1
    ((setting, value),) = shorter.items()
    assert said[0].endswith(f"; with --set {setting}={value} it does so in one iteration only\n")
    assert said[1].endswith("show what actions do\n")


def test_that_numbers_are_means_over_seeds_is_said_once() -> None:
    file = io.StringIO()
    progress, agent = Progress(Console(file=file)), Learning()
    agent.seeds = (3, 4)
    progress.on_start(agent)
    for number in (1, 2):
        progress.on_iteration(agent, LOG | {"iteration": number})
    assert file.getvalue().count("2 seeds: the numbers of a line are means over them") == 1
    assert "means" not in show(LOG)


def test_after_a_resume_nothing_is_said_of_exploring() -> None:
    file = io.StringIO()
    progress, agent = Progress(Console(file=file)), Learning(exploring=2)
    agent.iteration = 2
    progress.on_start(agent)
    assert file.getvalue() == ""


def test_which_methods_explore_on_purpose() -> None:
    horizon = 50
    explores = lambda kind, **changes: _explores(kind, horizon, changes)
    assert explores(MobILE) == 8  # 800 steps, 100 in an iteration
    assert explores(MobILE, **{"inference.explore": 801}) == 9
    assert explores(MobILE, inference=None) == 0
    assert explores(METHODS["bco"]) == 5
    assert explores(METHODS["gaifo"]) == 0


def _explores(kind, horizon: int, changes: dict[str, Any]) -> int:
    demonstrations = find_task("cartpole").load(2)
    agent = kind("CartPole-v1", demonstrations, changes, horizon=horizon)
    return agent.exploring_iterations


def test_what_takes_long_is_said_with_the_time_it_has_taken(monkeypatch) -> None:
    for terminal in (False, True):
        file = io.StringIO()
        progress = Progress(Console(file=file, force_terminal=terminal, width=60))
        now = iter([0.0, *[75.0] * 1000])
        monkeypatch.setattr("ilfo.agents.progress.time.monotonic", lambda now=now: next(now))
        progress.on_phase(Learning(), "compiling")
        progress.on_end(MobILE)
        assert ("compiling ... 0:01:15" if terminal else "compiling ...\n") in file.getvalue()


def test_a_distance_is_shown_beside_the_untrained_one() -> None:
    log = LOG | {"mmd_floor": 0.02}
    first, second = show(log | {"iteration": 1, "mmd": 0.9}, log | {"iteration": 2}).splitlines()
    assert "MMD to expert 0.9  floor 0.02" in first
    assert "MMD to expert 0.5 (untrained 0.9)  floor 0.02" in second


def test_what_the_untrained_policy_had_while_it_acted_on_purpose_is_a_mean() -> None:
    file = io.StringIO()
    progress, agent = Progress(Console(file=file, width=200)), Learning()
    agent.exploring_iterations = 2
    progress.on_start(agent)
    for iteration, mmd in ((1, 0.7), (2, 0.9), (3, 0.5)):
        progress.on_iteration(agent, LOG | {"iteration": iteration, "mmd": mmd})
    *_, second, third = file.getvalue().splitlines()
    assert "MMD to expert 0.9  " in second
    assert "MMD to expert 0.5 (untrained 0.8)" in third


def test_the_floor_of_one_recording_is_unknown() -> None:
    assert "MMD to expert 0.5  floor unknown" in show(LOG | {"mmd_floor": 0.0})


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
