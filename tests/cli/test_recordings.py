"""What commands are told of recordings."""

from pathlib import Path

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.cli import train as runs
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import find_task
from ilfo.runs import machine
from tests.data.test_demonstrations import assert_same, example
from tests.helpers.agents import MACHINE

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari")

TABLE = "run,x,note,y\na,1,?,2\na,3,?,4\nb,5,?,6\nb,7,?,8\n"
LAYOUT = ["--states", "y", "x", "--episode", "run", "--terminal", "false"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "log.csv").write_text(TABLE)
    # devices can be set once in a process, and this one may have computed already
    monkeypatch.setattr(machine, "set_up", lambda *_: MACHINE)


def log():
    return Demonstrations.from_arrays([[[2, 1], [4, 3]], [[6, 5], [8, 7]]], terminal=False)


def mistake(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    return capsys.readouterr().err


def test_a_table_is_converted_as_it_is_told(capsys):
    main(["demos", "convert", "log.csv", "--out", "log.npz", *LAYOUT])
    assert "endings       0 terminal, 2 truncated" in capsys.readouterr().out
    assert_same(log(), Demonstrations.load("log.npz"), actions=False)
    assert Demonstrations.load("log.npz").names == ("y", "x")


def test_the_experts_return_is_written_down(capsys):
    convert = ["demos", "convert", "log.csv", *LAYOUT, "--expert-return", "-12.5", "--out"]
    main([*convert, "log.npz"])
    assert Demonstrations.load("log.npz").expert_return == -12.5
    main([*convert, "other.csv"])
    assert "other.csv has no place for: expert_return" in capsys.readouterr().out
    wrong = mistake([*convert[:2], "log.npz", "--expert-return", "3", "--out", "a.npz"], capsys)
    assert "say themselves that the expert's mean return is -12.5, not 3" in wrong


@pytest.mark.parametrize(("said", "ended"), [("True", True), ("FALSE", False)])
def test_how_the_episodes_of_a_table_ended(said, ended):
    main(["demos", "convert", "log.csv", "--out", "log.npz", *LAYOUT[:-1], said])
    assert [t.terminal for t in Demonstrations.load("log.npz")] == [ended, ended]


@pytest.mark.parametrize("place", ["log.parquet", "log.npy", "folder", "minari:toy/log-v0"])
def test_every_format_is_written_and_read_again(place, capsys):
    main(["demos", "convert", "log.csv", "--out", place, *LAYOUT])
    told = capsys.readouterr().out
    arrays = place in ("log.npy", "folder")
    assert (f"{place} has no place for: how trajectories ended, names" in told) == arrays
    ended = ["--terminal", "false"] if arrays else []
    main(["demos", "convert", place, "--out", "again.csv", *ended])
    assert_same(log(), Demonstrations.load("again.csv"), actions=False)


def test_what_is_left_out_is_said(capsys):
    example().save("demos.npz")
    main(["demos", "convert", "demos.npz", "--out", "demos.csv"])
    assert "demos.csv has no place for: env, seed\n" in capsys.readouterr().out
    assert_same(example(), Demonstrations.load("demos.csv"), actions=False)


def test_names_are_shown(capsys):
    main(["demos", "inspect", "log.csv", *LAYOUT])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "2", "5", "2.2361", "8", "y"] in rows


def test_a_run_is_told_the_same(monkeypatch):
    specs = []
    monkeypatch.setattr(runs, "start", lambda spec, *_: specs.append(spec))
    monkeypatch.setattr(runs, "show", lambda *_: None)
    command = ["train", "--env", "CartPole-v1", "--total-timesteps", "10", "--demos"]
    main([*command, "log.csv", *LAYOUT, "--expert-return", "-12.5"])
    log().save("minari:toy/log-v0")
    main([*command, "minari:toy/log-v0"])
    for spec in specs:
        assert_same(log(), spec.demonstrations(), actions=False)
    assert [spec.demonstrations().expert_return for spec in specs] == [-12.5, None]
    assert specs[1].demos == "minari:toy/log-v0"


def test_a_method_that_needs_actions_is_refused_in_its_own_words(capsys):
    np.save("walk.npy", np.zeros((1, 3, 4)))
    command = ["train", "bc", "--env", "CartPole-v1", "--demos", "walk.npy"]
    assert "bc learns from the expert's actions" in mistake(
        [*command, "--terminal", "false"], capsys
    )


MISTAKES = [
    (["demos", "inspect", "log.csv"], "no column 'terminal', only ['run', 'x', 'note', 'y']"),
    (["demos", "inspect", "log.csv", "--terminal", "over"], "no column 'over'"),
    (["demos", "inspect", "log.csv", "--terminal", "true"], "column 'run' holds 'a'"),
    (["demos", "convert", "log.csv", "--out", "log.xlsx"], "log.xlsx must end in one of"),
    (["demos", "convert", "log.csv", "--out", "log.csv"], "log.csv exists already"),
    (["demos", "convert", "log.csv", "--out", "a.npz", "--horizon", "3"], "leave it out"),
    (["demos", "convert", "a.pkl", "--out", "a.npz", "--horizon", "3", *LAYOUT], "not a table"),
    (["train", "--terminal", "false"], "--states, --terminal and --episode are about --demos"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes(arguments, message, tmp_path, capsys):
    before = sorted(tmp_path.iterdir())
    assert message in mistake(arguments, capsys)
    assert sorted(tmp_path.iterdir()) == before


def test_clips_of_one_row_are_converted(capsys):
    Path("clips.csv").write_text("x,episode\n1,0\n2,0\n3,1\n")
    told = ["clips.csv", "--terminal", "false"]
    convert = ["demos", "convert", *told, "--out", "clips.npz"]
    assert "only clips may have one (--clips" in mistake(convert, capsys)
    main([*convert, "--clips"])
    assert Demonstrations.load("clips.npz").lengths.tolist() == [1, 0]
    main(["demos", "inspect", *told, "--clips"])
    assert "transitions   min 0" in capsys.readouterr().out


def test_a_table_is_altered_as_it_is_told():
    Path("walk.csv").write_text("x,y\n1,0\n2,0\n3,1\n")
    main(["demos", "thin", "walk.csv", "thin.npz", "--every", "2", "--terminal", "false"])
    assert [each.states.tolist() for each in Demonstrations.load("thin.npz")] == [[[1, 0], [3, 1]]]


def test_the_recordings_of_a_task_are_altered(capsys):
    main(["demos", "thin", "reacher", "thin.npz", "--every", "5"])
    made = Demonstrations.load("thin.npz")
    assert made.every == 5
    assert_same(altered.thin(find_task("reacher").load(), 5), made, actions=False)
    find_task("cartpole").load(1).save("reacher.npz")
    Path("reacher.npz").rename("reacher")  # a file of that name is meant
    main(["demos", "thin", "reacher", "other.npz", "--every", "5"])
    assert Demonstrations.load("other.npz").dim == 4
    train = ["train", "--task", "reacher", "--every", "5"]
    assert "`ilfo demos thin`, `select` and `clip` make such recordings" in mistake(train, capsys)


def test_parts_are_selected_by_the_names_of_an_environment(tmp_path):
    find_task("hopper").load(1).save(tmp_path / "whole.npz")
    select = ["demos", "select", str(tmp_path / "whole.npz"), str(tmp_path / "part.npz")]
    main([*select, "--dimensions", "positions,0", "--env", "ilfo/Hopper-v0"])
    assert Demonstrations.load(tmp_path / "part.npz").observed == (1, 2, 3, 4, 5, 0)


def test_velocities_are_added_at_the_command_line(tmp_path, capsys):
    whole, part, back = (tmp_path / f"{name}.npz" for name in ("whole", "part", "back"))
    find_task("cartpole").load(2).states_only().save(whole)
    main(["demos", "select", str(whole), str(part), "--dimensions", "0", "2"])
    main(["demos", "velocities", str(part), str(back), "--env", "CartPole-v1"])
    made, true = Demonstrations.load(back), Demonstrations.load(whole)
    assert made.observed is None
    for one, other in zip(made, true, strict=True):
        np.testing.assert_allclose(one.states[:-1], other.states[:-1], atol=0.03)
    with pytest.raises(SystemExit):
        main(["demos", "velocities", str(whole), str(tmp_path / "no.npz"), "--env", "CartPole-v1"])
    assert "hold all 4 dimensions" in capsys.readouterr().err
