"""Recordings: the first episodes that were started, and metadata on where they come from."""

import io
import itertools
from dataclasses import replace

import gymnasium as gym
import jax
import numpy as np
import pytest
from rich.console import Console

from ilfo.common.seeding import Purpose
from ilfo.common.spaces import action_space
from ilfo.common.types import Normaliser
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.environments.tasks import Task
from ilfo.experts import record as module
from ilfo.experts.record import NoExpertError, record, train_and_record
from ilfo.experts.train import ExpertProgress, Plan, plan_for
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.episodes import play
from ilfo.storage.provenance import versions
from tests.helpers.counting import LIMIT, Counting, counting

HORIZON = 6
MAKERS = {kind: factory(lambda kind=kind: Counting(kind), HORIZON) for kind in ("discrete", "box")}


def policy(kind="discrete"):
    return MLPPolicy(width=8, depth=1, initial_log_std=0.5).init(
        2, action_space(MAKERS[kind].action_space), Normaliser.identity(2), key=jax.random.key(1)
    )


def recorded(kind="discrete", episodes=13, seed=4, metadata=None):
    return record(MAKERS[kind], policy(kind), seed=seed, episodes=episodes, metadata=metadata or {})


def trajectories(demonstrations):
    return [
        (trajectory.states.tobytes(), trajectory.terminal, trajectory.actions.tobytes())
        for trajectory in demonstrations
    ]


@pytest.mark.parametrize("kind", ["discrete", "box"])
def test_states_and_actions_are_those_of_whole_episodes(kind):
    demonstrations = recorded(kind)
    assert demonstrations.count() == 13
    for trajectory in demonstrations:
        position, tag = trajectory.states.T
        assert position[0] in (0, 1, 2)
        assert (tag == tag[0]).all()
        moves = 1 + trajectory.actions.reshape(len(position) - 1)  # in the environment's units
        np.testing.assert_allclose(np.diff(position), moves, atol=1e-5)
        assert trajectory.terminal == (position[-1] >= LIMIT)
        assert (position[:-1] < LIMIT).all()
        assert trajectory.terminal or len(position) == HORIZON + 1


def test_endings_and_time_limits_both_occur():
    flags = [trajectory.terminal for trajectory in recorded()]
    assert 0 < sum(flags) < len(flags)


def test_the_first_episodes_started_are_recorded_not_the_first_to_finish():
    many, few = recorded(episodes=13), recorded(episodes=7)
    assert len(set(many.lengths.tolist())) > 1
    assert trajectories(few) == trajectories(many)[:7]
    alone = play(
        [counting("discrete", HORIZON)],
        HostPolicy.single(policy()),
        action_space(MAKERS["discrete"].action_space),
        episodes=13,
        seed=4,
        purpose=Purpose.RECORD,
        greedy=False,
    )
    for trajectory, episode in zip(many, alone, strict=True):
        np.testing.assert_array_equal(trajectory.states, episode.states)


def test_same_seed_same_bits():
    first, again, other = (trajectories(recorded("box", seed=seed)) for seed in (4, 4, 5))
    assert first == again
    assert not set(first) & set(other)


def test_the_card_says_what_was_measured():
    demonstrations = recorded(metadata={"task": "counting", "seed": "forged"})
    totals = [trajectory.states[1:, 0].sum() for trajectory in demonstrations]
    np.testing.assert_allclose(demonstrations.returns, totals, rtol=1e-6)
    metadata = demonstrations.metadata
    assert {name: metadata[name] for name in ("task", "environment", "horizon", "seed")} == {
        "task": "counting",
        "environment": "Counting",
        "horizon": HORIZON,
        "seed": 4,
    }
    assert (
        metadata["expert_return"] == demonstrations.expert_return == pytest.approx(np.mean(totals))
    )
    assert metadata["expert_return_std"] == pytest.approx(np.std(totals))
    assert metadata["versions"] == versions()
    # a time limit of six: at most 2 + 2 · 6 in the last step, at least 1 in the first
    for name in ("expert_return_greedy", "random_return"):
        assert 1 + 2 + 3 < metadata[name] < 9 * HORIZON
    assert (
        metadata["expert_return_greedy"] != metadata["expert_return"] != metadata["random_return"]
    )


# Training until it is good enough


def stand_in(returns):
    """Experts whose returns are known, in the place of training them."""

    def train(make, *, horizon, seed, plan):
        assert horizon == HORIZON
        for number in itertools.count():
            yield ExpertProgress(number + 1, 100 * (number + 1), returns[number], policy())

    return train


@pytest.fixture
def task():
    name = "TestCounting-v0"
    gym.register(name, Counting, max_episode_steps=HORIZON)
    yield Task(
        name="counting",
        environment=name,
        observation="a number that grows and one that stays",
        reward="the first",
        terminal=lambda state: state[0] >= LIMIT,
        reset="0, 1 or 2",
        expert_return=30.0,
        demonstrations=2,
        budget=100,
    )
    del gym.registry[name]


def test_the_first_policy_that_is_good_enough_is_recorded(task, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train", stand_in([30.0, 29.9, 30.0, 50.0]))
    verdicts = iter([False, True])  # the first was only lucky
    monkeypatch.setattr(module, "_confirmed", lambda *_: next(verdicts))
    printed, out = io.StringIO(), tmp_path / "demos.npz"
    train_and_record(task, out, 4, 13, Console(file=printed))
    demonstrations = Demonstrations.load(out, actions=True)
    assert trajectories(demonstrations) == trajectories(recorded())
    metadata = demonstrations.metadata
    assert metadata["training"]["samples"] == 300
    assert metadata["training"]["curve"] == [[100, 30.0], [200, 29.9], [300, 30.0]]
    assert metadata["task"] == "counting"
    assert metadata["rebuild"] == "ilfo expert train counting --seed 4 --episodes 13 --out FILE"
    lines = printed.getvalue().splitlines()
    assert lines[0] == "0 of 5000000 samples  compiling first ..."
    assert [line.partition(" samples ")[0] for line in lines[1:4]] == [
        "return 30.0 of 30  100 of 5000000",
        "return 29.9 of 30  200 of 5000000",
        "return 30.0 of 30  300 of 5000000",
    ]
    assert lines[4:] == [
        f"recorded 13 trajectories, mean return {demonstrations.expert_return:.1f}"
    ]


def test_the_same_policy_is_recorded_greedily_too(task, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train", stand_in([30.0]))
    monkeypatch.setattr(module, "_confirmed", lambda *_: True)
    out, greedy_out = tmp_path / "noisy.npz", tmp_path / "greedy.npz"
    train_and_record(task, out, 4, 13, Console(file=io.StringIO()), greedy_out=greedy_out)
    noisy, greedy = (Demonstrations.load(path, actions=True) for path in (out, greedy_out))
    assert trajectories(noisy) == trajectories(recorded()) != trajectories(greedy)
    assert [noisy.metadata["greedy"], greedy.metadata["greedy"]] == [False, True]
    assert greedy.metadata["rebuild"].endswith("--episodes 13 --out OTHER --greedy-out FILE")
    assert greedy.metadata["expert_return_stochastic"] != greedy.metadata["expert_return"]


def test_a_file_that_exists_is_left_alone_before_any_training(task, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train", stand_in([]))  # to ask it for an expert is an error
    out = tmp_path / "demos.npz"
    out.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=r"demos\.npz exists already"):
        train_and_record(task, out, 0, 2, Console(file=io.StringIO()))
    assert out.read_bytes() == b"precious"


def test_training_and_recording_can_be_repeated(task, tmp_path, cache_home):
    """With the real training; its first policy is good enough here."""
    easy = replace(task, expert_return=0.0)
    recordings = []
    for name in ("first.npz", "second.npz"):
        train_and_record(easy, tmp_path / name, 0, 3, Console(file=io.StringIO()))
        recordings.append(Demonstrations.load(tmp_path / name, actions=True))
    assert trajectories(recordings[0]) == trajectories(recordings[1])
    both = [demonstrations.metadata for demonstrations in recordings]
    assert [metadata["training"].pop("seconds") > 0 for metadata in both] == [
        True,
        True,
    ]
    assert both[0] == both[1]
    assert both[0]["training"]["samples"] == plan_for(task).streams * HORIZON


def test_confirming_takes_episodes_of_its_own(task):
    env_factory = factory(task.environment)
    assert module._confirmed(replace(task, expert_return=0.0), env_factory, policy(), 0)
    assert not module._confirmed(replace(task, expert_return=1e9), env_factory, policy(), 0)


def test_an_expert_must_be_good_without_noise_too(task, monkeypatch):
    returns = {False: 40.0, True: 20.0}
    monkeypatch.setattr(module, "play", lambda *_, greedy, **__: greedy)
    monkeypatch.setattr(module, "mean_return", returns.get)
    env_factory = factory(task.environment)
    assert module._confirmed(replace(task, expert_return=20.0), env_factory, policy(), 0)
    assert not module._confirmed(replace(task, expert_return=30.0), env_factory, policy(), 0)


def test_an_expert_that_is_never_good_enough_is_given_up(task, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train", stand_in([10.0, 12.5, 11.0]))
    out, plan = tmp_path / "demos.npz", Plan(limit=300)
    with pytest.raises(NoExpertError, match=r"within 300 samples: the best return was 12\.5"):
        train_and_record(task, out, 4, 13, Console(file=io.StringIO()), plan)
    assert not out.exists()
