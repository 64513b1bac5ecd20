"""Experts by SAC: resumable to the bit, recorded, exported, and errors before any work."""

import json
import shutil
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest

from ilfo.cli import main
from ilfo.common.fitting import Adam
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.experts import directory
from ilfo.experts.actors import play_actor
from ilfo.experts.off_policy import OffPolicyPlan, OffPolicyTraining
from ilfo.experts.sources import find_actor
from ilfo.planners.sac import SAC
from ilfo.policies import reader
from ilfo.runs import machine
from ilfo.runs.directory import RunError
from ilfo.storage import checkpoint
from tests.helpers.agents import MACHINE, bits

LONG = "a" * 5_000
NAME, HORIZON = "TestTarget-v0", 8
PLAN = OffPolicyPlan(
    SAC(batch_size=16, width=8, depth=1, discount=0.5, optimiser=Adam(1e-2)),
    capacity=500,
    random_steps=20,
    block=10,
    updates=10,
    every=40,
)
CHANGES = (
    *("sac.batch_size=16", "sac.width=8", "sac.depth=1", "sac.discount=0.5"),
    *("sac.optimiser.learning_rate=0.01", "capacity=500", "random_steps=20", "block=10"),
    *("updates=10", "every=40"),
)


class Target(gym.Env):
    """The reward is how near the action is to 1.2, of the bounds -2 and 2; nothing ends."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action):
        return self._seen(), -abs(float(action[0]) - 1.2), False, False, {}

    def _seen(self):
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def registered(cache_home):
    gym.register(NAME, Target, max_episode_steps=HORIZON)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "set_up", lambda *_: MACHINE)
        yield
    del gym.registry[NAME]


def begun(path, seed=0, plan=PLAN):
    return directory.open_or_create(path, NAME, plan, seed, MACHINE)


def trained(path, total, **options):
    with begun(path, **options) as run:
        return list(directory.train(run, total))


@pytest.fixture(scope="module")
def whole(registered, tmp_path_factory):
    """A training that nobody disturbed."""
    path = tmp_path_factory.mktemp("expert") / "whole"
    trained(path, 200)
    return path


def contents(path):
    """All that must not depend on when a training was stopped."""
    with np.load(path / "last.npz") as last, np.load(path / "best.npz") as best:
        arrays = [
            (name, file[name].tobytes()) for file in (last, best) for name in sorted(file.files)
        ]
    return (path / "metrics.csv").read_bytes(), arrays


def test_rounds_are_counted_in_environment_steps(whole):
    rows = [line.split(",")[:2] for line in (whole / "metrics.csv").read_text().splitlines()]
    assert rows == [["iteration", "steps"], *([str(n), str(40 * n)] for n in range(1, 6))]


def test_the_expert_gets_better(whole):
    rows = directory.RunDirectory.open(whole).rows("metrics")
    first, last = rows[0], rows[-1]
    for name in ("greedy_return", "stochastic_return"):
        assert last[name] > first[name] + 1
    assert last["greedy_return"] > -0.4 * HORIZON  # random actions have -1.36 per step


def test_a_training_in_several_sittings_has_the_same_bits(whole, tmp_path):
    path = tmp_path / "expert"
    for total in (40, 100, 200):  # rounded up to whole rounds
        trained(path, total)
    assert contents(path) == contents(whole)


@pytest.mark.parametrize("file", ["best.npz", "last.npz"])
def test_a_training_that_is_killed_while_saving_has_the_same_bits(
    file, whole, tmp_path, monkeypatch
):
    path, save = tmp_path / "expert", checkpoint.save
    trained(path, 40)

    def killed(to, *args):
        if to.name == file:
            raise KeyboardInterrupt
        save(to, *args)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(path, 200)
    assert (path / "metrics.csv").read_text().count("\n") > 2  # rows without a checkpoint
    trained(path, 200)
    assert contents(path) == contents(whole)


def test_another_seed_another_expert(whole, tmp_path):
    trained(tmp_path / "other", 40, seed=1)
    assert bits(directory.load(tmp_path / "other").policy) != bits(directory.load(whole).policy)


def test_the_first_steps_are_random_and_without_updates():
    training = OffPolicyTraining(factory(NAME), PLAN, seed=0)
    first = bits(training.policy)
    training.plan = OffPolicyPlan(PLAN.sac, 500, random_steps=40, block=10, updates=10, every=40)
    assert training.advance() == {}
    assert bits(training.policy) == first
    actions = np.asarray(training.state.replay.items.transition.action[:40])
    assert actions.min() < -0.7 < 0.7 < actions.max()
    assert training.steps == int(training.state.replay.count) == 40


def test_the_best_policy_is_kept(whole):
    rows = directory.RunDirectory.open(whole).rows("metrics")
    worth = [min(row["greedy_return"], row["stochastic_return"]) for row in rows]
    assert checkpoint.read_meta(whole / "best.npz")["steps"] == 40 * (1 + int(np.argmax(worth)))


# Commands


def run_command(path, total):
    options = ["--out", str(path), "--total-timesteps", str(total), "--set", *CHANGES]
    main(["expert", "train", NAME, *options])


def test_the_command_trains_goes_on_and_says_so(whole, tmp_path, capsys):
    path = tmp_path / "expert"
    run_command(path, 80)
    run_command(path, 200)
    begun, lines = [], []
    for line in capsys.readouterr().out.splitlines():
        (begun if line.startswith("0 of") else lines).append(line)
    assert begun == [f"0 of {n} steps  compiling first ..." for n in (80, 120)]
    assert [line.split()[1] for line in lines if line.startswith("steps")] == [
        *("40", "80", "120", "160", "200")
    ]
    assert all("greedy -" in line and "stochastic -" in line for line in lines)
    counted = [" ".join(line.split()[7:12]) for line in lines if line.startswith("steps")]
    assert counted == [
        *(f"s {n} of 80 steps" for n in (40, 80)),
        *(f"s {n} of 120 steps" for n in (40, 80, 120)),
    ]
    assert lines[-1].startswith(f"{path}: after 200 steps")
    assert contents(path) == contents(whole)
    run_command(path, 200)  # nothing is left to do
    assert capsys.readouterr().out.splitlines()[0].startswith(f"{path}: after 200 steps")


@pytest.mark.parametrize("greedy", [False, True])
def test_a_recording_says_where_it_comes_from(greedy, whole, tmp_path):
    out = tmp_path / "demos.npz"
    options = ["--out", str(out), "--episodes", "3", *(["--greedy"] if greedy else [])]
    main(["expert", "record", str(whole), *options])
    demonstrations = Demonstrations.load(out, actions=True)
    assert demonstrations.count() == 3
    metadata = demonstrations.metadata
    other = "expert_return_stochastic" if greedy else "expert_return_greedy"
    assert {"commit", "versions", "expert_return", "random_return", other} <= set(metadata)
    assert (metadata["environment"], metadata["greedy"], metadata["seed"]) == (NAME, greedy, 0)
    assert metadata["training"]["samples"] == 200
    assert metadata["training"]["plan"]["sac"]["batch_size"] == 16
    assert [steps for steps, _ in metadata["training"]["curve"]] == [40, 80, 120, 160, 200]
    trained, recorded = metadata["rebuild"].split(" && ")
    assert trained.startswith(f"ilfo expert train {NAME} --seed 0 --total-timesteps 200 --out")
    assert set(trained.partition("--set ")[2].split()) == set(CHANGES)
    assert recorded.startswith("ilfo expert record FOLDER --episodes 3 --seed 0 --out FILE")
    assert recorded.endswith("--greedy") == greedy
    if greedy:
        known = directory.load(whole).policy
        (first, *_) = demonstrations
        modes = jax.vmap(lambda s: known.distribution(s).mode())(first.states[:-1])
        np.testing.assert_allclose(first.actions, 2 * modes, atol=1e-5)


def test_an_expert_acts_where_a_run_would(whole, tmp_path):
    main(["export", str(whole), str(tmp_path / "policy.npz")])
    act = find_actor(str(whole), factory(NAME), greedy=True)
    (episode,) = play_actor(factory(NAME).make(), act, episodes=1, seed=0)
    exported = reader.Policy(tmp_path / "policy.npz")
    np.testing.assert_allclose(exported(episode.states[:-1]), episode.actions, atol=1e-5)


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "begun with the seed 0, not 1"),
        ({"plan": OffPolicyPlan()}, "begun with the plan"),
    ],
)
def test_another_command_does_not_go_on(options, message, whole):
    before = contents(whole)
    with pytest.raises(RunError, match=message):
        begun(whole, **options)
    assert contents(whole) == before


def test_two_processes_do_not_train_the_same_expert(tmp_path):
    with begun(tmp_path / "expert"), pytest.raises(RunError, match="in use by another process"):
        begun(tmp_path / "expert")


def test_a_run_is_no_expert(tmp_path):
    directory.RunDirectory.create(tmp_path / "run", {"method": "mobile"}).close()
    for use in (begun, directory.load):
        with pytest.raises(RunError, match="a run of `ilfo train`, not the training of an expert"):
            use(tmp_path / "run")


@pytest.mark.parametrize("name", ["environment", "seed", "plan"])
@pytest.mark.parametrize("wrong", [None, [], True, -1, 10**400, {"type": "SAC"}, {"type": LONG}])
def test_a_damaged_config_is_named(name, wrong, whole, tmp_path):
    path = Path(shutil.copytree(whole, tmp_path / "copy"))
    content = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(content | {name: wrong}))
    with pytest.raises(RunError, match=rf"config\.json has .*{name}") as raised:
        directory.load(path)
    assert len(str(raised.value)) < 2_000
    with pytest.raises(RunError, match=name):
        begun(path)


@pytest.mark.parametrize(
    "rows", ["", "iteration,steps\n1,40\n", "iteration,stochastic_return\n1,\n"]
)
def test_damaged_rows_are_named(rows, whole, tmp_path):
    path = Path(shutil.copytree(whole, tmp_path / "copy"))
    (path / "metrics.csv").write_text(rows)
    with pytest.raises(RunError, match=r"metrics\.csv (has no rows|lacks numbers in)"):
        directory.load(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "CartPole-v1", "--out", "new"], "SAC needs a Box of them"),
        (["train", NAME, "--out", "new.npz"], "--out must be a folder"),
        (["train", NAME, "--out", "new", "--episodes", "3"], "records episodes of it"),
        (["train", NAME, "--out", "new", "--seed", "-1"], "seeds is [-1]"),
        (["train", NAME, "--out", "new", "--total-timesteps", "0"], "must be at least 1"),
        (["train", NAME, "--out", "new", "--set", "every=7"], "must be a multiple of block"),
        (["train", NAME, "--out", "new", "--set", "sac.depth=-1"], "must be at least 0"),
        (["train", "cartpole", "--out", "new.npz", "--set", "every=7"], "are for environments"),
        (["record", "nowhere", "--out", "new.npz"], "there is no run directory nowhere"),
    ],
)
def test_mistakes_are_said_before_any_work(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["expert", *arguments])
    assert message in " ".join(capsys.readouterr().err.split())
    assert not any(tmp_path.iterdir())
