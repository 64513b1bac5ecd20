"""A run directory does not choose what code is imported."""

import sys
from pathlib import Path

import gymnasium as gym
import pytest

from ilfo.cli import main
from ilfo.runs import machine
from ilfo.runs.checks import check_env
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.launch import resume, start
from ilfo.runs.loading import load_best, load_policies
from ilfo.runs.spec import RunSpec
from tests.helpers.agents import MACHINE, small_spec

MODULE = "module_of_a_run"
SOURCE = """
import gymnasium
gymnasium.register("OfARun-v0", "gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=500)
"""


@pytest.fixture(scope="module")
def trained(cache_home, demos_file, tmp_path_factory) -> Path:
    """A run in an environment of a module that nobody has imported since."""
    folder = tmp_path_factory.mktemp("trusted")
    (folder / f"{MODULE}.py").write_text(SOURCE)
    sys.path.insert(0, str(folder))
    start(small_spec(demos_file, 1, env=f"{MODULE}:OfARun-v0"), folder / "run", MACHINE)
    yield folder / "run"
    sys.path.remove(str(folder))


@pytest.fixture
def run(trained, monkeypatch) -> Path:
    monkeypatch.setattr(machine, "set_up", lambda _: MACHINE)
    sys.modules.pop(MODULE, None)
    gym.registry.pop("OfARun-v0", None)
    return trained


def test_nothing_is_imported_that_was_not_named(run):
    for use in (load_best, lambda path: resume(path, MACHINE)):
        with pytest.raises(RunError, match=rf"if you trust it, add --trust-env {MODULE} "):
            use(run)
        assert MODULE not in sys.modules
    with pytest.raises(RunError, match="--trust-env"):
        load_best(run, trust_env="json")


@pytest.mark.parametrize("command", ["evaluate", "resume"])
def test_the_commands_say_what_to_add(command, run, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, str(run)])
    assert end.value.code == 2
    shown = capsys.readouterr().err
    assert f"--trust-env {MODULE}" in shown
    assert shown.count("\n") == 1
    assert MODULE not in sys.modules


def test_policies_alone_need_no_environment(run, tmp_path):
    assert load_policies(run).predict([0.0] * 4)[0] in (0, 1)
    main(["export", str(run), str(tmp_path / "policy.npz")])
    assert MODULE not in sys.modules


def test_a_module_that_was_named_is_imported(run):
    agent = load_best(run, trust_env=MODULE)
    assert next(agent.play(agent.policy(), episodes=1, seed=0)).rewards.sum() >= 1
    assert MODULE in sys.modules
    resume(run, MACHINE)  # imported already


def test_the_command_imports_what_it_names(run, capsys):
    main(["evaluate", str(run), "--episodes", "1", "--trust-env", MODULE])
    assert "greedy return" in capsys.readouterr().out


def test_a_file_may_be_named_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = f"{tmp_path / 'own_env.py'}:Cart"
    run, spec = (
        RunDirectory(tmp_path, {}, None),
        RunSpec(task=None, env=env, demos="x.npz", total_timesteps=100),
    )
    check_env(run, spec, "own_env.py")
    check_env(run, spec, str(tmp_path / "own_env.py"))
    for other in ("other.py", "own_env", None):
        with pytest.raises(RunError, match="--trust-env"):
            check_env(run, spec, other)
