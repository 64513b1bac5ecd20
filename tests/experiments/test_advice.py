"""What recordings are, and what to expect of methods."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from ilfo.agents.sight import Sight
from ilfo.cli import main
from ilfo.common.spaces import action_space, state_dim
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.environments.tasks import find_task
from ilfo.experiments.advice import (
    Facts,
    conditions_of,
    differing,
    expectations,
    kind_of,
    nearest_task,
    reset_coverage,
)
from tests.experiments.test_conditions import write

PLAIN = Facts(
    every=1,
    stated=True,
    seconds=0.02,
    observed=None,
    state_dim=12,
    noise=0.01,
    trajectories=10,
    episodes=10.0,
    clips=False,
    coverage=1.0,
)


@pytest.mark.parametrize(
    ("special", "conditions"),
    [
        ({}, ["recorded"]),
        ({"every": 4}, ["every4"]),
        ({"every": 8, "noise": 0.3}, ["every8"]),
        ({"observed": (1, 2), "noise": 0.2}, ["positions", "noise"]),
        ({"observed": tuple(range(12))}, ["recorded"]),
        ({"clips": True, "episodes": 1.0}, ["clips"]),
        ({"episodes": 1.0, "noise": None}, ["one"]),
        ({"differing": {"mass": 1.3}, "every": 4}, ["every4", "body"]),
        ({"differing": {"bins": 5, "leg": 1.1}}, ["discrete", "body"]),
        ({"differing": {"bins": None}}, ["recorded"]),  # recorded with levels, learned without
    ],
)
def test_rows_of_the_table(special, conditions):
    assert conditions_of(PLAIN._replace(**special)) == conditions


def test_lines():
    lines = "\n".join(kind_of(PLAIN))
    assert "rate          one state every control step, 50 Hz\n" in lines
    assert "noise         about 1.0% of the spread" in lines
    assert "10 recordings, worth 10 whole episodes" in lines
    other = PLAIN._replace(every=4, stated=False, observed=(1, 2), clips=True, noise=None)
    lines = "\n".join(kind_of(other))
    assert "every 4 control steps, 12.5 Hz (assumed: the file does not say)" in lines
    assert "2 of 12 dimensions: 1, 2" in lines
    assert "noise         unknown" in lines
    assert "clips begin anywhere" in lines


def test_other_bodies_and_actions_than_where_it_was_recorded():
    assert differing("ilfo/Hopper-v0,mass=1.0", None) == {}
    assert differing("ilfo/Hopper-v0,mass=1.3,reset_noise=0.1", None) == {"mass": 1.3}
    assert differing("ilfo/Hopper-v0,bins=5", "ilfo/Hopper-v0") == {"bins": 5}
    assert differing("ilfo/Reacher-v0,bins=5", None) == {}
    assert differing("ilfo/Reacher-v0,bins=3", None) == {"bins": 3}
    heavy = "ilfo/Hopper-v0,mass=1.3"
    assert differing(heavy, heavy) == {}
    assert differing("ilfo/Hopper-v0", heavy) == {"mass": 1.0}
    assert differing(heavy, "Hopper-v5") == {"mass": 1.3}
    assert differing("Hopper-v5,frame_skip=5", None) == {}
    lines = "\n".join(kind_of(PLAIN._replace(differing={"mass": 1.3, "bins": 5})))
    assert "learner       not as where it was recorded: mass 1.3, bins 5" in lines
    assert "recorded: bins continuous" in "\n".join(
        kind_of(PLAIN._replace(differing={"bins": None}))
    )
    assert "learner" not in "\n".join(kind_of(PLAIN))


def test_one_is_no_plural():
    lines = "\n".join(kind_of(PLAIN._replace(trajectories=1, episodes=1.0)))
    assert "1 recording, worth 1 whole episode\n" in lines


def test_resets_near_the_beginnings():
    resets = np.stack([np.linspace(0, 1, 11), np.zeros(11)], 1)
    visited = np.concatenate([resets, resets + 1])
    sight = Sight(resets, visited, np.stack([resets, resets + 1], 1))
    assert reset_coverage(sight, resets) == 1
    assert reset_coverage(sight, resets[:5]) == pytest.approx(6 / 11)
    assert reset_coverage(sight, resets + 5) == 0


def test_expectations_are_rows_or_say_that_there_is_none(tmp_path):
    text = "\n".join(expectations("hopper", ["every4"], tmp_path))
    assert "row 'hopper, every 4th state' is empty: no method was tried yet" in text
    assert "with such recordings in hopper, so" in text
    assert "no fault of your recordings" in text
    assert "ilfo bench run conditions hopper-every4" in text
    write(tmp_path, "hopper-every4", [0.9, 1.0, 0.8, 1.0, 0.8], mmd=0.3, floor=0.2)
    text = "\n".join(expectations("hopper", ["every4"], tmp_path))
    assert "MobILE                 0.90 [" in text
    assert "; 1.5" in text
    assert "GAIfO                  –; –" in text
    assert "  – not tried yet" in text
    assert "earlier settings" not in text
    for file in tmp_path.rglob("*.json"):
        record = json.loads(file.read_text())
        record["settings"]["weight"] = 0.123
        file.write_text(json.dumps(record))
    text = "\n".join(expectations("hopper", ["every4"], tmp_path))
    assert "  * measured with earlier settings" in text
    assert "another task" not in text


def test_a_row_of_another_task_is_called_an_example(tmp_path):
    text = "\n".join(expectations("hopper", ["every4"], tmp_path, "Pendulum-v1"))
    assert "in Pendulum-v1, or in hopper, the task most like it, so there is no result" in text
    for condition in ("every4", "noise"):
        write(tmp_path, f"hopper-{condition}", [0.9, 1.0, 0.8, 1.0, 0.8], mmd=0.3, floor=0.2)
    text = "\n".join(expectations("hopper", ["every4"], tmp_path, "Pendulum-v1"))
    assert "nothing was measured in Pendulum-v1; this is an example from another task" in text
    # a row that Walker2d does not have is Hopper's
    text = "\n".join(expectations("walker2d", ["noise"], tmp_path))
    assert "nothing was measured in walker2d; this is an example from another task" in text
    assert "row 'hopper, 20 % noise'" in text


def test_the_nearest_task_has_the_same_kind_of_actions():
    for name, nearest in {
        "ilfo/Walker2d-v0": "walker2d",
        "Pendulum-v1": "hopper",
        "CartPole-v1": "reacher",
    }.items():
        made = factory(name)
        dim = state_dim(made.observation_space)
        problem = SimpleNamespace(actions=action_space(made.action_space), state_dim=dim)
        assert nearest_task(SimpleNamespace(factory=made, problem=problem)) == nearest


def test_inspecting_for_an_environment(tmp_path, capsys):
    whole = find_task("reacher").load(3)
    altered.noisy(altered.select(whole, (0, 1, 2, 3, 4, 5, 8, 9)), 0.2).save(tmp_path / "a.npz")
    env = ["--env", "ilfo/Reacher-v0", "--results", str(tmp_path)]
    main(["demos", "inspect", str(tmp_path / "a.npz"), *env])
    told = capsys.readouterr().out
    assert "in ilfo/Reacher-v0\n" in told
    assert "(assumed: the file does not say)" in told
    assert "8 of 10 dimensions" in told
    assert "row 'reacher, positions only' is empty: no method was tried yet" in told
    assert "row 'reacher, 20 % noise' is empty: no method was tried yet" in told
    with pytest.raises(SystemExit):
        main(["demos", "inspect", str(tmp_path / "a.npz"), "--every", "2"])
    assert "go with --env" in capsys.readouterr().err


def test_old_files_are_taken_at_the_control_rate(tmp_path, capsys):
    states = [trajectory.states for trajectory in find_task("reacher").load(2)]
    Demonstrations.from_arrays(states, terminal=False).save(tmp_path / "old.npz")
    nowhere = ["--results", str(tmp_path / "none")]
    main(["demos", "inspect", str(tmp_path / "old.npz"), "--env", "ilfo/Reacher-v0", *nowhere])
    told = capsys.readouterr().out
    assert "cannot be said here: it is read from measured results, and there is no folder" in told
    assert "no fault of your recordings" in told
    assert "'reacher, as recorded'" in told
    main(
        [
            "demos",
            "inspect",
            str(tmp_path / "old.npz"),
            "--env",
            "ilfo/Reacher-v0",
            *nowhere,
            "--every",
            "2",
        ]
    )
    other = capsys.readouterr().out
    assert "'reacher, every 4th state'" in other
    assert "BC-O, GAIfO and DACfO take neighbouring frames for one step" in other
    assert (
        "rate          one state every control step, 50 Hz (assumed: the file does not say)" in told
    )
    assert "state         all of it" in told


def test_the_row_of_another_body_and_what_looks_wrong(tmp_path, capsys):
    states = [trajectory.states[::-1] for trajectory in find_task("hopper").load(2)]
    Demonstrations.from_arrays(states, terminal=False).save(tmp_path / "back.npz")
    env = ["--env", "ilfo/Hopper-v0,mass=1.3", "--results", str(tmp_path)]
    main(["demos", "inspect", str(tmp_path / "back.npz"), *env])
    told = capsys.readouterr().out
    assert "not as where it was recorded: mass 1.3\n" in told
    assert "doubtful: the recordings look as if they ran backwards" in told
    assert "row 'hopper, mass 1.3, motors 0.8' is empty" in told


def test_bad_input_is_an_error_before_anything_else_is_said(tmp_path, capsys):
    find_task("reacher").load(2).save(tmp_path / "a.npz")
    env = ["--env", "ilfo/Reacher-v0"]
    for wrong, message in {
        ("--rate", "33Hz"): "1.52 control steps",
        ("--every", "0"): "must be a whole number",
        ("--observe", "0", "1"): "2 dimensions are named",
    }.items():
        with pytest.raises(SystemExit):
            main(["demos", "inspect", str(tmp_path / "a.npz"), *env, *wrong])
        printed = capsys.readouterr()
        assert message in printed.err
        assert printed.out == ""
    with pytest.raises(SystemExit):
        main(["demos", "inspect", str(tmp_path / "a.npz"), "--every", "0"])
    assert "go with --env" in capsys.readouterr().err
