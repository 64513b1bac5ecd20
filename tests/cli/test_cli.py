"""The command line: what is typed arrives, what is printed can be read, mistakes cost one line."""

import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ilfo import cli
from ilfo.agents.divergence import DivergenceError
from ilfo.agents.registry import DYNAMICS
from ilfo.agents.settings import walk
from ilfo.cli import console as terminal
from ilfo.cli import main
from ilfo.cli import train as runs
from ilfo.cli.commands import ROOT, Command
from ilfo.cli.field_texts import field_texts
from ilfo.data.demonstrations import Demonstrations
from ilfo.methods import METHODS
from ilfo.methods.mobile import MobILESettings
from ilfo.rollouts.video import NoPictureError
from ilfo.runs import machine
from ilfo.runs.spec import RunSpec
from tests.helpers.agents import CHANGES, HORIZON, MACHINE, SEEDS, STEP, demonstrations


def print_to(patch: pytest.MonkeyPatch, console: Console) -> None:
    """Let `ilfo train` print there."""
    for module in (terminal, runs):
        patch.setattr(module, "console", console)


@pytest.fixture(autouse=True)
def same_machine(monkeypatch):
    """Devices can be set once in a process, and this one has computed already."""
    monkeypatch.setattr(machine, "set_up", lambda *_: MACHINE)


def training(demos: Path, out: Path, iterations: int = 5) -> list[str]:
    arguments = {
        "--env": "CartPole-v1",
        "--demos": demos,
        "--out": out,
        "--horizon": HORIZON,
        "--seeds": SEEDS,
        "--total-timesteps": iterations * STEP,
    }
    return ["train", *(str(x) for pair in arguments.items() for x in pair), "--set", *CHANGES]


# Help ------------------------------------------------------------------------------------------


def commands(group=ROOT, before=()):
    for name, entry in group.commands.items():
        words = (*before, name)
        if isinstance(entry, Command):
            yield pytest.param(words, entry, id=" ".join(words))
        else:
            yield from commands(entry, words)


def help_of(arguments, capsys, monkeypatch, columns: int = 200) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "command"), list(commands()))
def test_every_option_is_explained(arguments, command, capsys, monkeypatch):
    kind = command.load(arguments[-1])
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", help_of(arguments, capsys, monkeypatch)).split())
    texts = field_texts(kind)
    assert set(texts) == set(kind.__dataclass_fields__)
    for name, text in texts.items():
        assert text.rstrip(".") in shown, name
    assert " ".join(kind.__doc__.split()) in shown


@pytest.mark.parametrize("group", [[], ["demos"], ["expert"], ["bench"], ["theory"]])
def test_pages_fit_a_terminal_of_80_columns(group, capsys, monkeypatch):
    entry = ROOT.commands[group[0]] if group else ROOT
    own = [name for name, command in entry.commands.items() if isinstance(command, Command)]
    for arguments in (group, *([*group, name] for name in own)):
        usage, *lines = help_of(arguments, capsys, monkeypatch, columns=80).splitlines()
        assert usage.startswith("usage: ilfo")
        assert max(map(len, lines)) <= 80, arguments
        assert "None" not in " ".join(lines), arguments


def test_the_first_page_says_how_to_begin(capsys, monkeypatch):
    shown = help_of([], capsys, monkeypatch, columns=80)
    before, _, listed = shown.partition("Commands:")
    assert len(shown.splitlines()) <= 40
    for name in re.findall(r"^  ilfo (\w+)", before, re.M):
        assert re.search(rf"^  {name} ", listed, re.M)
    assert "ilfo doctor --env ID --demos FILE" in before


def test_options_of_the_command_come_before_those_of_files(capsys, monkeypatch):
    shown = help_of(["train"], capsys, monkeypatch)
    assert shown.index("--env ") < shown.index("--states ")


@pytest.mark.parametrize(("arguments", "command"), list(commands()))
def test_a_summary_is_the_first_line_of_the_docstring(arguments, command):
    kind = command.load(arguments[-1])
    assert command.summary == inspect.cleandoc(kind.__doc__).splitlines()[0]


def test_no_command_is_left_out():
    """Every command of a module's own table is in the table that the help page prints."""
    listed = {}
    for words, command in (parameter.values for parameter in commands()):
        listed.setdefault(command.module, set()).add(words[-1])
    for file in Path(cli.__file__).parent.glob("*.py"):
        table = getattr(import_module(f"ilfo.cli.{file.stem}"), "COMMANDS", {})
        assert set(table) == listed.get(file.stem, set()), file.stem


@pytest.mark.parametrize("group", [[], ["demos"], ["expert"], ["bench"], ["theory"]])
def test_groups_list_their_commands(group, capsys, monkeypatch):
    shown = help_of(group, capsys, monkeypatch)
    entry = ROOT.commands[group[0]] if group else ROOT
    for name, command in entry.commands.items():
        assert re.search(rf"{name} +{re.escape(command.summary)}", shown)


@pytest.mark.parametrize("group", [[], ["demos"], ["expert"], ["bench"], ["theory"]])
@pytest.mark.parametrize("wrong", [[], ["chess"], ["--chess"], ["--chess", "train"]])
def test_a_command_that_does_not_exist(group, wrong, capsys):
    with pytest.raises(SystemExit) as end:
        main([*group, *wrong])
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{' '.join(['ilfo', *group])} --help" in shown.err
    assert not wrong or wrong[0] in shown.err


def test_the_version(capsys):
    main(["--version"])
    assert capsys.readouterr().out == f"{version('ilfo')}\n"


def test_shell_completion_knows_the_options(capsys):
    with pytest.raises(SystemExit):
        main(["--tyro-print-completion", "bash"])
    assert "--evaluate-every" in capsys.readouterr().out


# Training, resuming, evaluating ----------------------------------------------------------------


@pytest.fixture(scope="module")
def trained_by_command(cache_home, demos_file, tmp_path_factory):
    """A run and what was printed, without a terminal."""
    out = tmp_path_factory.mktemp("cli") / "run"
    with pytest.MonkeyPatch.context() as patch, (out.parent / "printed").open("w") as printed:
        patch.setattr(machine, "set_up", lambda *_: MACHINE)
        print_to(patch, Console(file=printed))
        main(training(demos_file, out))
    return out, (out.parent / "printed").read_text()


def test_training_your_own_environment(trained_by_command, finished_run, demos_file):
    out, _ = trained_by_command
    assert (out / "metrics.csv").read_bytes() == (finished_run / "metrics.csv").read_bytes()
    spec = json.loads((out / "config.json").read_text())["spec"]
    assert spec["demos"] == str(demos_file.resolve())
    assert spec["task"] is None


def test_plain_lines_without_a_terminal(trained_by_command):
    out, printed = trained_by_command
    assert "\x1b" not in printed
    comparing, doubtful, *rest = printed.splitlines()
    assert rest.pop(1).startswith("3 seeds: the numbers of a line are means over them")
    phases, lines = rest[:3], rest[3:]
    assert comparing.startswith("comparing the recordings with the environment ...")
    assert [phase.partition(" ...")[0] for phase in phases[1:]] == ["compiling", "first iteration"]
    assert doubtful.startswith("doubtful: 2 of 2 recordings are longer than the horizon")
    assert [line.split("  ")[:2] for line in lines[:5]] == [
        [f"iteration {i}", f"samples {i * STEP}/{5 * STEP}"] for i in range(1, 6)
    ]
    assert all("MMD to expert" in line and "left 0:00:" in line for line in lines[:5])
    assert lines[5] == "evaluating the selected policies ..."
    assert "mobile on CartPole-v1" in lines[6]
    assert f"run directory: {out}" in lines[-1]


def test_a_method_without_online_samples_says_the_pass(cache_home, tmp_path, monkeypatch):
    printed = io.StringIO()
    print_to(monkeypatch, Console(file=printed, width=200))
    changes = ["policy.width=8", "policy.depth=1", "passes=4", "every=2", "episodes=1"]
    main(["train", "bc", "--trajectories", "1", "--out", str(tmp_path / "run"), "--set", *changes])
    rows = [re.split("[┃│]", line) for line in printed.getvalue().splitlines()]
    (header,) = [row for row in rows if len(row) > 2 and row[1].strip() == "seed"]
    (seed,) = [row for row in rows if len(row) > 2 and row[1].strip() == "0"]
    chosen = json.loads((tmp_path / "run" / "summary.json").read_text())["seeds"][0]
    assert header[-2].strip() == "chosen at pass"
    assert int(seed[-2]) == chosen["chosen_iteration"] > 0


def test_resuming_with_more(trained_by_command, capsys):
    out, _ = trained_by_command
    before = (out / "metrics.csv").read_bytes()
    main(["resume", str(out), "--total-timesteps", str(6 * STEP)])
    after = (out / "metrics.csv").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n6,") == SEEDS
    assert "iteration 6" in capsys.readouterr().out


def test_resuming_elsewhere_says_so(finished_run, tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    monkeypatch.setattr(machine, "set_up", lambda *_: {"threads": 2, "devices": 1})
    with pytest.raises(SystemExit):
        main(["resume", str(run)])
    assert "--anyway" in capsys.readouterr().err
    main(["resume", str(run), "--anyway"])
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("resumed with threads 2 (before 1): from there on numbers differ")
    assert any(line.startswith("after iteration 5 resumed with threads 2") for line in others)


def test_evaluating(finished_run, capsys):
    before = {path.name: path.stat().st_mtime_ns for path in finished_run.iterdir()}
    main(["evaluate", str(finished_run), "--episodes", "3"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    numbers = {row[1]: [float(row[i]) for i in (3, 5, 7)] for row in rows if len(row) == 9}
    assert set(numbers) == {"0", "1", "2"}
    expert = demonstrations().expert_return
    for greedy, reached, stochastic in numbers.values():
        assert 1 <= greedy <= HORIZON
        assert 1 <= stochastic <= HORIZON
        assert reached == pytest.approx(greedy / expert, abs=0.006)
    assert {path.name: path.stat().st_mtime_ns for path in finished_run.iterdir()} == before


def test_the_prediction_error_of_the_model(finished_run, capsys):
    main(["evaluate", str(finished_run), "--episodes", "3", "--model"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    table = [row for row in rows if len(row) == 7 and row[0] == "│"]
    numbers = {row[1]: (float(row[3]), float(row[5])) for row in table}
    assert list(numbers)[:2] == ["1", "5"]
    assert all(value > 0 for pair in numbers.values() for value in pair)
    with pytest.raises(SystemExit):
        main(["evaluate", str(finished_run), "--model", "--video", "film.gif"])
    assert "leave --video out" in capsys.readouterr().err


def test_a_film_beside_the_expert(finished_run, tmp_path, capsys):
    command = ["evaluate", str(finished_run), "--episodes", "1", "--beside-expert", "--video"]
    main([*command, str(tmp_path / "film.gif")])
    assert "film.gif: an episode with return" in capsys.readouterr().out
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF89a")


def test_without_pictures_states_can_be_plotted(finished_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runs, "check_rendering", fail_with(NoPictureError("it is blind")))
    with pytest.raises(SystemExit):
        main(["evaluate", str(finished_run), "--video", str(tmp_path / "film.gif")])
    said = "error: it is blind; --beside-expert plots the states instead\n"
    assert capsys.readouterr().err == said


def test_a_film_beside_the_expert_needs_a_file_and_the_demonstrations(
    finished_run, tmp_path, capsys
):
    """Found out before any episode is played."""
    run, film = tmp_path / "run", tmp_path / "film.gif"
    shutil.copytree(finished_run, run)
    with pytest.raises(SystemExit):
        main(["evaluate", str(run), "--beside-expert"])
    assert "add --video FILE.gif" in capsys.readouterr().err
    config = json.loads((run / "config.json").read_text())
    config["spec"]["demos"] = str(tmp_path / "lost.npz")
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit):
        main(["evaluate", str(run), "--video", str(film), "--beside-expert"])
    printed = capsys.readouterr()
    assert "lost.npz" in printed.err
    assert "greedy return" not in printed.out
    assert not film.exists()


ON_ONE_CORE = """
import os, runpy
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
runpy.run_module("ilfo", run_name="__main__")
"""


def test_the_installed_command(cache_home, demos_file, tmp_path):
    """In a process of its own, on one core: threads, devices and the cache are set up for real."""
    matplotlib = pytest.importorskip("matplotlib")
    command = [sys.executable, "-c", ON_ONE_CORE, *training(demos_file, tmp_path / "run", 1)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ
        | {"XDG_CACHE_HOME": str(cache_home), "MPLCONFIGDIR": matplotlib.get_cachedir()},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[6].startswith(f"iteration 1  samples {STEP}/{STEP}")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["machine"] == {"threads": 1, "devices": 1}
    assert any((cache_home / "ilfo" / "compiled").iterdir())
    assert (cache_home / "ilfo" / "compiled").stat().st_mode & 0o777 == 0o700


# Looking ---------------------------------------------------------------------------------------


def test_inspecting_demonstrations(demos_file, capsys):
    main(["demos", "inspect", str(demos_file)])
    shown = capsys.readouterr().out
    expert = demonstrations()
    assert "trajectories  2\n" in shown
    assert f"states        {expert.states_count} of dimension 4\n" in shown


def test_inspecting_a_table(tmp_path, capsys):
    (tmp_path / "walk.csv").write_text("episode,terminal,x,y\na,0,1,2\na,0,3,4\na,1,5,6\n")
    main(["demos", "inspect", str(tmp_path / "walk.csv")])
    shown = capsys.readouterr().out
    assert "states        3 of dimension 2\n" in shown
    assert "endings       1 terminal, 0 truncated\n" in shown


def test_a_missing_library_costs_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "walk.parquet").touch()
    with pytest.raises(SystemExit, match="2"):
        main(["demos", "inspect", str(tmp_path / "walk.parquet")])
    assert capsys.readouterr().err.rstrip().endswith("pip install 'ilfo[parquet]'")


def test_listing_settings(capsys):
    main(["settings"])
    shown = capsys.readouterr().out
    assert all(f"\n{name} = " in shown for name, *_ in walk(MobILESettings()))
    assert max(map(len, shown.splitlines())) <= 80  # readable in a small window
    assert "LearnedTermination" in shown
    assert "Different from" not in shown


def test_what_a_task_changes(capsys):
    main(["settings", "--task", "cartpole"])
    table, _, changes = capsys.readouterr().out.partition("Different from `ilfo settings mobile`: ")
    assert "KnownTermination" in table
    expected = "termination=KnownTermination, termination.function=cartpole_ends"
    assert " ".join(changes.split()) == expected
    main(["settings", "bc", "--task", "cartpole"])
    assert capsys.readouterr().out.endswith("Same as `ilfo settings bc`.\n")


@pytest.mark.parametrize("method", METHODS)
def test_listing_settings_of_every_method(method, capsys):
    main(["settings", method])
    shown = capsys.readouterr().out
    for name, value, owner, field in walk(METHODS[method].method.settings()):
        assert f"{name} = {value}\n" in shown
        assert field_texts(owner)[field], name


def test_the_methods_are_listed(capsys, monkeypatch):
    shown = help_of(["train"], capsys, monkeypatch)
    assert "|".join(METHODS) in shown


def test_settings_come_with_their_texts():
    fields = {
        name: (value, field_texts(owner)[field])
        for name, value, owner, field in walk(MobILESettings())
    }
    assert fields["weight"] == (
        "0.1",
        "λ: weight of the exploration bonus in the cost; 0 turns it off.",
    )
    assert fields["planner"][0] == "TRPO"
    assert fields["planner.kl"][1] == "Bound on the mean KL divergence of a step."
    assert list(fields)[:2] == ["dynamics", "dynamics.members"]


@pytest.mark.parametrize("name", DYNAMICS)
def test_dynamics_by_their_short_names(name):
    spec = RunSpec(changes=runs._dynamics(name))
    assert type(spec.settings().dynamics) is DYNAMICS[name]


# Mistakes --------------------------------------------------------------------------------------

ENV = ["--env", "CartPole-v1"]
STEPS = ["--total-timesteps", "1000"]
MISTAKES = [
    (["train", "--task", "chess"], "unknown task 'chess'; there are: cartpole"),
    (["train", "sarsa"], "unknown method 'sarsa'; there are: mobile"),
    (["train", "bc", "--total-timesteps", "1000"], "bc takes no environment steps to learn"),
    (["train", "bc", *ENV, "--demos", "good.npz"], "bc learns from the expert's actions, but"),
    (["train", "gail", *ENV, *STEPS, "--demos", "good.npz"], "gail learns from the expert's"),
    (["train", "bc", *ENV, "--demos", "halves.npz"], "must be whole numbers from 0 to 1, one per"),
    (
        ["train", "gail", *ENV, *STEPS, "--demos", "halves.npz"],
        "trajectory 1: the recorded actions",
    ),
    (["train", "bc", *ENV, "--demos", "mixed"], "only some of the demonstrations have actions"),
    (["train", "bc", *ENV, "--demos", "corrupt.npz"], "cannot be read as demonstrations"),
    (["train", "ilpo", "--task", "hopper"], "ilpo needs discrete actions"),
    (["train", "bco", "--preset", "best"], "no preset 'best' for cartpole; there are: default"),
    (["train", "--preset", "best"], "no preset 'best' for cartpole; there are: default, pap"),
    (["train", "--set", "planner.speed=3"], "planner.speed: TRPO has no field 'speed'"),
    (["train", "--set", "policy_steps=many"], "policy_steps: expected int, got 'many'"),
    (["train", "--set", "policy_steps=0"], "policy_steps is 0"),
    (["train", "--dynamics", "newton"], "unknown dynamics 'newton'; there are: ensemble, gp, knr"),
    (["train", "--set", "dynamics=FiniteDynamics"], "FiniteDynamics cannot be chosen by its name"),
    (["train", "--set", "bonus=CalibratedBonus"], "which EnsembleDynamics does not promise"),
    (["train", "--set", "weight=2"], "MobILESettings.weight is 2.0, but must lie in [0, 1]"),
    (
        ["train", "--set", "planner=GPT"],
        "planner: there is no 'GPT'; choose among PPO, TRPO, SACPlanner",
    ),
    (
        ["train", "--set", "planner=MMD"],
        "planner: there is no 'MMD'; choose among PPO, TRPO, SACPlanner",
    ),
    (
        ["train", "--set", "dynamics=FiniteDynamics"],
        "cannot be chosen by its name alone",
    ),
    (["train", *ENV, *STEPS, "--demos", "missing.npz"], "there are no demonstrations at"),
    (["train", *ENV, *STEPS, "--demos", "corrupt.npz"], "cannot be read as demonstrations"),
    (["train", "--task", "cartpole", *ENV], "give either --task, or --env with --demos"),
    (["train", *ENV, *STEPS], "give both --env and --demos"),
    (["train", *STEPS, "--demos", "good.npz"], "--task, or --env with --demos"),
    (["train", *ENV, "--demos", "good.npz"], "--total-timesteps"),
    (["train", "--total-timesteps", "0"], "total_timesteps is 0, but one iteration takes"),
    (["train", "--seeds", "0"], "seeds is 0, but must be at least 1"),
    (["train", "--evaluate-every", "0"], "every is 0, but must be at least 1"),
    (["train", "--out", "used"], "used is in use"),
    (
        ["train", "--env", "Chess-v0", *STEPS, "--demos", "good.npz"],
        "unknown environment 'Chess-v0'",
    ),
    (
        ["train", "--env", "chess:Chess-v0", *STEPS, "--demos", "good.npz"],
        "unknown environment 'chess:Chess-v0': No module named 'chess'",
    ),
    (["train", "--env", "Pendulum-v1", *STEPS, "--demos", "good.npz"], "Pendulum-v1 have 3"),
    (["resume", "nowhere"], "there is no run directory nowhere"),
    (["evaluate", "used"], "used is not a run directory"),
    (["demos", "inspect", "missing.npz"], "there are no demonstrations at missing.npz"),
    (["demos", "inspect", "corrupt.npz"], "corrupt.npz cannot be read as demonstrations"),
    (["train", "--dynamics", "tabular"], "needs states that are one-hot vectors"),
    (["settings", "--task", "chess"], "unknown task 'chess'"),
    (["settings", "sarsa"], "unknown method 'sarsa'; there are: mobile, bc, bco"),
    (["settings", "--preset", "best"], "no preset 'best' for an unknown environment"),
    (["expert", "train", "chess", "--out", "new.npz"], "unknown task 'chess'"),
    (["expert", "train", "cartpole", "--out", "good.npz"], "good.npz exists already"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), MISTAKES, ids=[" ".join(typed)[:50] for typed, _ in MISTAKES]
)
def test_a_mistake_costs_one_line(arguments, message, demos_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("good.npz").write_bytes(demos_file.read_bytes())
    Path("corrupt.npz").write_bytes(demos_file.read_bytes()[:500])
    states = np.zeros((2, 4, 4), np.float32)
    acted = [[0, 1, 1], [0, 0.5, 1]]
    Demonstrations.from_arrays(states, terminal=False, actions=acted).save("halves.npz")
    Path("mixed").mkdir()
    Path("mixed/1.npz").write_bytes(Path("halves.npz").read_bytes())
    Path("mixed/2.npz").write_bytes(demos_file.read_bytes())
    Path("used").mkdir()
    Path("used/photo.jpg").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert message in shown.err
    assert shown.err.count("\n") == 1, shown.err
    assert shown.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_typing_error_is_explained_by_the_parser(capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "--sedes", "3"])
    assert end.value.code == 2
    assert "--sedes" in capsys.readouterr().err


def fail_with(error):
    def fail(*_, **__):
        raise error

    return fail


def test_divergence_costs_one_line_too(monkeypatch, capsys):
    monkeypatch.setattr(runs, "start", fail_with(DivergenceError("NaN in phase dynamics")))
    with pytest.raises(SystemExit) as end:
        main(["train"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: NaN in phase dynamics\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(), "OSError"),
        (ValueError(" \n"), "ValueError"),
        (MemoryError(), "there is not enough memory"),
    ],
)
def test_an_error_without_a_text_is_named(error, said, monkeypatch, capsys):
    monkeypatch.setattr(runs, "start", fail_with(error))
    with pytest.raises(SystemExit):
        main(["train"])
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize("how", [(), ("--markdown",)])
def test_a_reader_that_has_seen_enough_costs_no_line(how):
    command = (sys.executable, "-m", "ilfo", "tasks", "--experts", *how)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (1, b"")


def test_stopping_by_hand_is_no_error(monkeypatch, capsys):
    monkeypatch.setattr(runs, "start", fail_with(KeyboardInterrupt()))
    with pytest.raises(SystemExit) as end:
        main(["train"])
    assert end.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


def test_what_nobody_expected_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(runs, "start", fail_with(AttributeError("a bug")))
    with pytest.raises(AttributeError, match="a bug"):
        main(["train"])


def test_the_seconds_of_a_resumed_run_are_said_to_be_those_of_all_commands(finished_run, capsys):
    summary = json.loads((finished_run / "summary.json").read_text())
    for resumed in (True, False):
        runs.show(summary, finished_run, resumed=resumed)
        text = " ".join(capsys.readouterr().out.split())
        assert "s of them compiling" in text
        assert ("s in all (with those before it was resumed)," in text) is resumed


def test_without_the_experts_return_the_table_says_why_there_are_no_scores(finished_run, capsys):
    summary = json.loads((finished_run / "summary.json").read_text())
    for expert, words in ((12.0, "score 1 is the expert's return of 12.0"), (None, "no scores")):
        runs.show(summary | {"expert_return": expert}, finished_run)
        assert words in " ".join(capsys.readouterr().out.split())
