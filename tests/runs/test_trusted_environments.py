"""A run directory does not choose what code is imported."""

import contextlib
import json
import shutil
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from ilfo.cli import main
from ilfo.runs import machine
from ilfo.runs.checks import check_env
from ilfo.runs.directory import RunError
from ilfo.runs.launch import resume, start
from ilfo.runs.loading import load_best, load_policies
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
    check_env(tmp_path, env, "own_env.py")
    check_env(tmp_path, env, str(tmp_path / "own_env.py"))
    for other in ("other.py", "own_env", None):
        with pytest.raises(RunError, match="--trust-env"):
            check_env(tmp_path, env, other)


@pytest.mark.parametrize(
    "env", ["os:system,command=touch", "builtins:exec", "gymnasium:make,id=x", "os:getcwd"]
)
def test_functions_of_imported_modules_are_code_as_well(env, tmp_path):
    with pytest.raises(RunError, match=f"add --trust-env {env.partition(':')[0]} "):
        check_env(tmp_path, env, None)


def test_what_is_imported_and_registered_or_an_environment_needs_no_trust(tmp_path):
    for env in (
        "CartPole-v1",
        "ilfo.environments:ilfo/Hopper-v0,mass=1.3",
        "gymnasium.envs.classic_control:CartPoleEnv",
    ):
        check_env(tmp_path, env, None)


def test_no_command_that_reads_a_run_calls_a_function_which_that_names(run, tmp_path):
    """Not even resuming, which makes the environment before it reads the checkpoint."""
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    config = json.loads((copy / "config.json").read_text())
    config["spec"] |= {"env": "os:mkdir", "env_set": [f"path={tmp_path / 'made'}"]}
    (copy / "config.json").write_text(json.dumps(config))
    for command in (["resume"], ["evaluate"], ["report", "--no-film"]):
        with contextlib.suppress(SystemExit):
            main([*command, str(copy)])
    assert not (tmp_path / "made").exists()
