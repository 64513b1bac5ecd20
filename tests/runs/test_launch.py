"""Runs that leave a directory behind: complete, repeatable, and unharmed by whatever stops them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from ilfo import MobILE
from ilfo.agents import saving
from ilfo.agents.callbacks import Callback
from ilfo.agents.divergence import DivergenceError
from ilfo.common.fitting import Adam
from ilfo.discriminators.constant import ConstantCost
from ilfo.environments.tasks import find_task
from ilfo.methods.mobile import MobILESettings
from ilfo.planners.ppo import PPO
from ilfo.rollouts.episodes import mean_return
from ilfo.runs import checks
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.launch import TrainingError, resume, start
from ilfo.runs.loading import load_best
from ilfo.runs.spec import RunSpec, apply_changes
from ilfo.storage.checkpoint import CheckpointError
from ilfo.storage.provenance import versions
from tests.helpers.agents import (
    CHANGES,
    HORIZON,
    MACHINE,
    SEEDS,
    SETTINGS,
    STEP,
    Exploding,
    bits,
    demonstrations,
    small_spec,
)

ROOT = Path(__file__).parents[2]
FILES = {"config.json", "metrics.csv", "timings.csv", "last.npz", "summary.json"}


def table(path: Path, name: str = "metrics") -> bytes:
    return (path / f"{name}.csv").read_bytes()


def contents(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


@pytest.fixture
def copy(finished_run, tmp_path) -> Path:
    """The finished run, to be tampered with."""
    return Path(shutil.copytree(finished_run, tmp_path / "copy"))


def rewrite(run: Path, **entries) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | entries))


# What a run leaves behind ----------------------------------------------------------------------


def test_a_run_directory_is_complete(finished_run):
    pytest.importorskip("matplotlib")
    assert {entry.name for entry in finished_run.iterdir()} == FILES | {"curves.png", ".lock"}
    assert (finished_run / "curves.png").read_bytes().startswith(b"\x89PNG")
    with RunDirectory.open(finished_run) as run:
        rows, times = run.rows("metrics"), run.rows("timings")
    assert [(row["iteration"], row["seed"]) for row in rows] == [
        (iteration, seed) for iteration in range(1, 6) for seed in range(SEEDS)
    ]
    assert [row["online_samples"] for row in rows[::SEEDS]] == [STEP * i for i in range(1, 6)]
    assert all(1 <= row["greedy_return"] <= HORIZON for row in rows)
    assert [row["iteration"] for row in times] == [1, 2, 3, 4, 5]
    assert set(times[0]) == {"iteration", "compile", "collect", "improve", "evaluate", "save"}
    assert MobILE.load(finished_run / "last.npz").iteration == 5


def test_the_summary_has_the_names_that_other_programs_read(finished_run):
    summary = json.loads((finished_run / "summary.json").read_text())
    assert {name: summary[name] for name in ("task", "env", "method", "preset")} == {
        "task": None,
        "env": "CartPole-v1",
        "method": "mobile",
        "preset": "default",
    }
    expert = demonstrations()
    assert summary["demonstrations"] == {"trajectories": 2, "states": expert.states_count}
    assert summary["online_samples"] == 5 * STEP
    assert summary["expert_return"] == expert.expert_return
    assert summary["random_return"] == expert.random_return
    assert summary["chosen_by"] == "real-mmd"
    assert [seed["seed"] for seed in summary["seeds"]] == list(range(SEEDS))
    for seed in summary["seeds"]:
        assert seed["greedy_score"] == seed["greedy_return"] / expert.expert_return
        assert seed["stochastic_score"] == seed["stochastic_return"] / expert.expert_return
        assert seed["chosen_at"] in range(0, 5 * STEP, STEP)
    for name in ("greedy_score", "stochastic_score"):
        mean = np.mean([seed[name] for seed in summary["seeds"]])
        assert summary["mean"][name] == pytest.approx(mean)
    seconds = summary["seconds"]
    assert set(seconds) == {"compile", "collect", "improve", "evaluate", "save", "total"}
    assert min(seconds.values()) > 0
    assert {"threads": summary["threads"], "devices": summary["devices"]} == MACHINE
    assert summary["versions"] == versions()


def summary_of(run: Path) -> dict:
    return json.loads((run / "summary.json").read_text())


def test_the_chosen_policy_has_the_smallest_mmd_of_the_table(finished_run):
    with RunDirectory.open(finished_run) as run:
        rows, summary = run.rows("metrics"), summary_of(finished_run)
    for seed in summary["seeds"]:
        mmd = [row["mmd"] for row in rows if row["seed"] == seed["seed"]]
        assert seed["chosen_mmd"] == pytest.approx(min(mmd), rel=1e-5)
        assert seed["chosen_at"] == STEP * int(np.argmin(mmd))


def test_the_checkpoint_holds_the_chosen_policies(finished_run):
    agent, summary = load_best(finished_run), summary_of(finished_run)
    assert agent.iteration == 5
    chosen = agent.state.chosen
    assert chosen.iteration.tolist() == [seed["chosen_iteration"] for seed in summary["seeds"]]
    for index, seed in enumerate(summary["seeds"]):
        played = agent.play(agent.policy(index), episodes=50, seed=seed["seed"])
        assert mean_return(played) == seed["greedy_return"]


def test_directories_of_before_with_two_checkpoints_still_load(copy):
    (copy / "last.npz").rename(copy / "best.npz")
    agent = load_best(copy)
    shutil.copy(copy / "best.npz", copy / "last.npz")
    (copy / "best.npz").write_bytes(b"of a newer iteration, or damaged")
    assert bits(load_best(copy).state) == bits(agent.state)


def test_the_same_order_gives_the_same_bytes(finished_run, demos_file, tmp_path):
    start(small_spec(demos_file, 5), tmp_path / "again", MACHINE)
    assert table(tmp_path / "again") == table(finished_run)
    config = lambda run: json.loads((run / "config.json").read_text())
    assert config(tmp_path / "again") == config(finished_run)


# What is refused before anything is written ----------------------------------------------------


def test_a_directory_in_use_is_left_alone(copy, demos_file):
    before = contents(copy)
    with pytest.raises(RunError, match="is in use"):
        start(small_spec(demos_file, 1), copy, MACHINE)
    assert contents(copy) == before


@pytest.mark.parametrize(
    ("fields", "more", "message"),
    [
        ({"total_timesteps": STEP - 1}, {}, f"is {STEP - 1}, but one iteration takes {STEP}"),
        ({"total_timesteps": 0}, {}, "total_timesteps is 0"),
        ({"seeds": 0}, {}, "seeds is 0"),
        ({"trajectories": 3}, {}, "between 1 and 2"),
        ({"env": "Pendulum-v1"}, {}, "demonstrated states have 4"),
        ({"changes": ("weight",)}, {}, "change 'weight' has no '='"),
        ({"changes": ("speed=3",)}, {}, "no field 'speed'"),
        ({"changes": ("termination=KnownTermination",)}, {}, "cannot be chosen by its name alone"),
        ({"changes": ("streams=0",)}, {}, "streams is 0"),
        ({"preset": "best"}, {}, "no preset 'best'"),
        ({}, {"every": 0}, "every is 0, but must be at least 1"),
    ],
)
def test_mistakes_leave_no_directory(fields, more, message, demos_file, tmp_path):
    with pytest.raises(ValueError, match=message):
        start(small_spec(demos_file, 1, **fields), tmp_path / "run", MACHINE, **more)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"method": "alchemy"}, "unknown method 'alchemy'; there are: mobile, bc, "),
        ({"task": None, "demos": "x.npz"}, "--task, or --env with --demos"),
        ({"task": None, "env": "CartPole-v1", "demos": "x.npz"}, "--total-timesteps"),
    ],
)
def test_specs_that_make_no_sense(fields, message):
    with pytest.raises(ValueError, match=message):
        RunSpec(**fields)


def test_an_environment_needs_demonstrations(tmp_path):
    spec = RunSpec(task=None, env="CartPole-v1", total_timesteps=1000)
    with pytest.raises(ValueError, match="give both --env and --demos"):
        start(spec, tmp_path / "run", MACHINE)
    assert not (tmp_path / "run").exists()


def test_a_task_brings_demonstrations_budget_and_ending():
    spec = RunSpec()
    assert spec.environment() == "CartPole-v1"
    assert spec.budget == find_task("cartpole").budget
    assert spec.demonstrations().count() == find_task("cartpole").demonstrations
    assert spec.settings().termination.function(np.array([3.0, 0, 0, 0]))
    assert RunSpec(trajectories=4).demonstrations().count() == 4
    assert RunSpec(total_timesteps=7).budget == 7
    assert RunSpec(method="gaifo").budget == 10 * spec.budget  # it has no model to practise in


def test_states_alone_can_be_read_for_a_method_that_needs_actions(tmp_path):
    bundled = RunSpec(method="bc", trajectories=1)
    assert bundled.demonstrations().has_actions
    assert not bundled.demonstrations(states_only=True).has_actions
    find_task("cartpole").load(1, actions=True).save(tmp_path / "own.npz")
    own = RunSpec(method="bc", task=None, env="CartPole-v1", demos=str(tmp_path / "own.npz"))
    assert own.demonstrations().has_actions
    assert not own.demonstrations(states_only=True).has_actions


def test_changes_are_read_as_what_they_look_like():
    assert apply_changes(MobILESettings(), ["weight=0"]).weight == 0.0
    assert apply_changes(MobILESettings(), ["planner.kl=2e-2"]).planner.kl == 0.02
    assert apply_changes(MobILESettings(), ["planner=PPO"]).planner == PPO()
    assert apply_changes(MobILESettings(), ["dynamics.optimiser=Adam"]).dynamics.optimiser == Adam()
    assert apply_changes(MobILESettings(), ["refit=false"]).refit is False
    assert (
        apply_changes(MobILESettings(), ["discriminator.input=pair"]).discriminator.input == "pair"
    )
    assert small_spec(Path("x"), 1).settings() == SETTINGS


def test_the_constant_cost_judges_policies_by_what_it_replaces():
    settings = RunSpec(task="walker2d").settings()
    constant = apply_changes(settings, ["discriminator=ConstantCost"]).discriminator
    assert constant == ConstantCost(settings.discriminator)
    assert constant.wrapped.ridge == 1.0


# Killed and resumed ----------------------------------------------------------------------------

CHILD = """
import sys, time
from pathlib import Path
from ilfo.storage import checkpoint
from ilfo.runs.launch import start
from tests.helpers.agents import MACHINE, small_spec

save = checkpoint.save

def slow_save(path, *args):
    time.sleep(0.2)
    save(path, *args)
    time.sleep(0.2)

checkpoint.save = slow_save
start(small_spec(Path(sys.argv[1]), 5), Path(sys.argv[2]), MACHINE)
"""


def wait_for(condition, child: subprocess.Popen) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert child.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def has_rows(run: Path, iteration: int) -> bool:
    path = run / "metrics.csv"
    return path.exists() and f"\n{iteration},0," in path.read_text()


# Checkpoints are slow in this process: a kill on seeing a row hits before its checkpoint.
MOMENTS = {
    "just begun": lambda run: (run / "config.json").exists(),
    "first row written": lambda run: has_rows(run, 1),
    "later row written": lambda run: has_rows(run, 3),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_run_resumes_to_the_same_bytes(
    moment, finished_run, demos_file, cache_home, tmp_path
):
    run = tmp_path / "run"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "JAX_COMPILATION_CACHE_DIR": str(cache_home / "ilfo" / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(demos_file), str(run)], env=environment
    )
    try:
        wait_for(lambda: MOMENTS[moment](run), child)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert not (run / "summary.json").exists()
    if (run / "metrics.csv").exists():
        assert table(finished_run).startswith(table(run))
    if moment == "later row written":
        for name in ("metrics", "timings"):
            with (run / f"{name}.csv").open("a") as file:
                file.write("4,0,1")  # a line that was being written
    resume(run, MACHINE)
    check_equal_runs(run, finished_run)


def check_equal_runs(run: Path, reference: Path) -> None:
    assert table(run) == table(reference)
    assert {entry.name for entry in run.iterdir()} >= FILES
    mine, others = (MobILE.load(folder / "last.npz") for folder in (run, reference))
    assert bits(mine.state) == bits(others.state)
    best, others_best = load_best(run), load_best(reference)
    assert bits(best.state.chosen) == bits(others_best.state.chosen)
    with RunDirectory.open(run) as directory:
        times = directory.rows("timings")
    assert [row["iteration"] for row in times] == [1, 2, 3, 4, 5]
    assert summary_of(run) | {"seconds": 0} == summary_of(reference) | {"seconds": 0}


class Crash(Exception):
    pass


@pytest.mark.parametrize("written", [False, True])
def test_a_crash_around_the_checkpoint_loses_no_choice(
    written, finished_run, demos_file, tmp_path, monkeypatch
):
    """In the iteration of the last choice that any seed makes."""
    last_choice = 1 + int(max(load_best(finished_run).state.chosen.iteration))
    save = saving.save

    def crash_around(agent, *args, **more):
        if agent.iteration < last_choice or written:
            save(agent, *args, **more)
        if agent.iteration == last_choice:
            raise Crash

    run = tmp_path / "run"
    monkeypatch.setattr(saving, "save", crash_around)
    with pytest.raises(TrainingError, match="ilfo resume") as crash:
        start(small_spec(demos_file, 5), run, MACHINE)
    assert isinstance(crash.value.__cause__, Crash)
    monkeypatch.undo()
    resume(run, MACHINE)
    check_equal_runs(run, finished_run)


def test_a_finished_run_goes_on_with_a_larger_budget(finished_run, demos_file, tmp_path):
    run = tmp_path / "run"
    start(small_spec(demos_file, 3), run, MACHINE)
    short = table(run)
    assert table(finished_run).startswith(short)
    resume(run, MACHINE)
    assert table(run) == short
    resume(run, MACHINE, total_timesteps=5 * STEP)
    check_equal_runs(run, finished_run)
    assert json.loads((run / "config.json").read_text())["spec"]["total_timesteps"] == 5 * STEP


# Refusing to resume ----------------------------------------------------------------------------


def check_refused(run: Path, message: str, machine=MACHINE) -> None:
    before = contents(run)
    with pytest.raises(RunError, match=message):
        resume(run, machine)
    assert contents(run) == before


def test_resume_refuses_other_versions(copy):
    rewrite(copy, versions=versions() | {"jax": "0.0.1"})
    check_refused(copy, r"was made with jax 0\.0\.1 \(now .*\); install those versions")


def test_resume_refuses_other_demonstrations(copy, tmp_path):
    other = tmp_path / "other.npz"
    demonstrations(1).save(other)
    spec = json.loads((copy / "config.json").read_text())["spec"]
    rewrite(copy, spec=spec | {"demos": str(other)})
    check_refused(copy, "the demonstrations have changed")


def test_resume_refuses_another_machine(copy):
    other = {"threads": 64, "devices": 64}
    check_refused(
        copy, "was made with 1 threads and 1 devices, but this process has 64 threads", other
    )


def test_resume_refuses_other_code(copy):
    rewrite(copy, source="0" * 40, commit="f" * 40)
    check_refused(copy, r"was made by other code \(ffff.*; go back to that code")


# Resuming elsewhere ----------------------------------------------------------------------------

MOVED = {"threads": 2, "devices": 2}


def config_of(run: Path) -> dict:
    return json.loads((run / "config.json").read_text())


def test_a_run_is_resumed_on_another_machine_if_asked(finished_run, demos_file, tmp_path):
    run = tmp_path / "run"
    start(small_spec(demos_file, 3), run, {"threads": 8, "devices": 8})
    check_refused(run, "--anyway", MOVED)
    summary = resume(run, MOVED, total_timesteps=4 * STEP, anyway=True)
    moves = [{"iteration": 3, "changes": {"threads": [8, 2], "devices": [8, 2]}}]
    assert summary["elsewhere"] == summary_of(run)["elsewhere"] == moves
    assert summary["devices"] == 2
    remark = "after iteration 3 resumed with threads 2 (before 8), devices 2 (before 8): from there"
    assert summary["remarks"][0].startswith(remark)
    # where it is now, it goes on as it did before
    resume(run, MOVED, total_timesteps=5 * STEP)
    assert config_of(run)["elsewhere"] == moves
    assert summary_of(run)["remarks"][0].startswith(remark)
    assert table(run) == table(finished_run)  # the machine has not really changed
    check_refused(run, "--anyway", {"threads": 8, "devices": 8})


def test_other_versions_and_code_are_written_down(copy):
    before = table(copy)
    rewrite(copy, versions=versions() | {"jax": "0.0.1"}, source="0" * 40, commit="f" * 40)
    resume(copy, MACHINE, anyway=True)
    (move,) = config_of(copy)["elsewhere"]
    assert move["iteration"] == 5
    assert move["changes"]["jax"] == ["0.0.1", versions()["jax"]]
    assert move["changes"]["code"][0] == "f" * 40
    assert config_of(copy)["versions"] == versions()
    assert table(copy) == before
    resume(copy, MACHINE)


def test_nothing_is_written_down_where_nothing_differs(copy):
    before = config_of(copy)
    assert "elsewhere" not in resume(copy, MACHINE, anyway=True)
    assert config_of(copy) == before


def test_other_demonstrations_are_refused_anyway(tmp_path):
    file, run = tmp_path / "demos.npz", tmp_path / "run"
    demonstrations(2).save(file)
    start(small_spec(file, 1), run, MACHINE)
    file.unlink()
    demonstrations(1).save(file)
    before = contents(run)
    with pytest.raises(RunError, match="the demonstrations have changed"):
        resume(run, MOVED, anyway=True)
    assert contents(run) == before


def test_resume_takes_another_commit_of_the_same_code(copy, monkeypatch):
    monkeypatch.setattr(checks, "commit", lambda: "f" * 40)
    resume(copy, MACHINE)


def test_code_that_differs_at_the_same_commit_is_told_apart(copy):
    rewrite(copy, source="0" * 40)
    check_refused(copy, r"other code \(both are of .*, but the source was 0000.* and is (?!0000)")


def test_resume_refuses_other_settings(copy, monkeypatch):
    monkeypatch.setattr(RunSpec, "settings", lambda _: replace(SETTINGS, weight=0.7))
    check_refused(copy, "was made with other settings")


def test_resume_refuses_what_is_no_training_run(tmp_path, copy):
    with pytest.raises(RunError, match="there is no run directory"):
        resume(tmp_path / "nowhere", MACHINE)
    (tmp_path / "config.json").write_text('{"compilerOptions": {}}')
    with pytest.raises(RunError, match=r"config\.json does not say what was trained"):
        resume(tmp_path, MACHINE)
    rewrite(copy, spec={"changes": [], "colour": "red"})
    check_refused(copy, "another version of ilfo")


def test_resume_refuses_while_the_run_goes_on(copy):
    with RunDirectory.open(copy, write=True), pytest.raises(RunError, match="another process"):
        resume(copy, MACHINE)


def test_resume_refuses_a_damaged_checkpoint(copy):
    (copy / "last.npz").write_bytes((copy / "last.npz").read_bytes()[:1000])
    before = contents(copy)
    with pytest.raises(CheckpointError, match=r"last\.npz is damaged"):
        resume(copy, MACHINE)
    assert contents(copy) == before


def test_a_run_without_a_checkpoint_has_no_best_policy(copy):
    (copy / "last.npz").unlink()
    with pytest.raises(RunError, match=r"last\.npz is missing, but \d+ iterations are recorded"):
        load_best(copy)
    for name in ("metrics.csv", "timings.csv", "summary.json"):
        (copy / name).unlink()
    with pytest.raises(CheckpointError, match="first iteration has not finished"):
        load_best(copy)


# Divergence ------------------------------------------------------------------------------------


class Explode(Callback):
    def on_iteration(self, agent, log):
        if agent.iteration == 2:
            Exploding.factor = 1e30


@pytest.fixture
def exploding(monkeypatch):
    name = "ExplodingCartPole-v0"
    gym.register(name, lambda: Exploding(gym.make("CartPole-v1").unwrapped), max_episode_steps=500)
    monkeypatch.setattr(Exploding, "factor", 1.0)
    yield name
    del gym.registry[name]


def test_divergence_leaves_a_run_that_can_go_on(exploding, finished_run, demos_file, tmp_path):
    run = tmp_path / "run"
    spec = small_spec(demos_file, 5, env=exploding)
    with pytest.raises(DivergenceError, match=r"in phase .*dynamics.* of iteration 3"):
        start(spec, run, MACHINE, [Explode()])
    assert MobILE.load(run / "last.npz").iteration == 2
    assert table(finished_run).startswith(table(run))
    assert not (run / "summary.json").exists()
    Exploding.factor = 1.0
    resume(run, MACHINE)
    assert table(run) == table(finished_run)


def test_changes_of_the_small_order_are_recorded(finished_run):
    config = json.loads((finished_run / "config.json").read_text())
    assert config["spec"]["changes"] == list(CHANGES)
    assert config["machine"] == MACHINE
    assert config["settings"]["policy_steps"] == 2
    assert config["seeds"] == list(range(SEEDS))
    assert config["environment"] == "CartPole-v1"
