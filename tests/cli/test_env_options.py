"""Options of environments, from the command line to the run and back."""

import json

import pytest

from ilfo.cli import main
from ilfo.runs import machine
from ilfo.runs.directory import RunDirectory
from ilfo.runs.loading import load_best
from ilfo.runs.spec import RunSpec, command_of, spec_of
from tests.helpers.agents import CHANGES, HORIZON, MACHINE, STEP

OPTION = "sutton_barto_reward=true"
"""CartPole's rewards are then 0, and -1 where the pole falls."""


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(machine, "set_up", lambda *_: MACHINE)


def test_a_run_remembers_the_options_of_its_environment(tmp_path, capsys):
    out = tmp_path / "run"
    command = ["train", "--task", "cartpole", "--env-set", OPTION, "--horizon", str(HORIZON)]
    command += ["--trajectories", "2", "--total-timesteps", str(2 * STEP), "--out", str(out)]
    main([*command, "--set", "termination=LearnedTermination", *CHANGES])
    spec = spec_of(RunDirectory.open(out))
    assert spec.env_set == (OPTION,)
    assert f"--env-set {OPTION}" in command_of(spec)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["env"] == "CartPole-v1,sutton_barto_reward=True"
    assert summary["seeds"][0]["greedy_return"] <= 0
    main(["resume", str(out), "--total-timesteps", str(3 * STEP)])
    assert load_best(out).factory.make().unwrapped._sutton_barto_reward
    capsys.readouterr()
    main(["evaluate", str(out), "--episodes", "1"])
    assert "1.0" not in capsys.readouterr().out.replace("-1.0", "").partition("expert")[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--task", "hopper", "--env-set", "mas=1.3"], "its options are: mass, motors, leg"),
        (["--task", "hopper", "--env-set", "mass=heavy"], "mass is 'heavy', but must be a number"),
        (["--task", "hopper", "--env-set", "mass"], "expected NAME=VALUE"),
        (["--task", "hopper", "--env-set", "mass=1:2"], "neither ',' nor ':'"),
    ],
)
def test_wrong_options_are_errors_before_any_work(given, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", *given, "--out", str(tmp_path / "run")])
    assert end.value.code == 2
    assert message in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "run").exists()


def test_the_environment_of_a_spec():
    spec = RunSpec(task="hopper", env_set=("mass=1.3", "motors=0.8"))
    assert spec.environment() == "ilfo/Hopper-v0,mass=1.3,motors=0.8"
