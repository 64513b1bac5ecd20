"""Clips: trajectories that begin anywhere, of unequal length, some of one state."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from ilfo.agents.method import Needs
from ilfo.common.spaces import action_space
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.sampling import sample
from ilfo.data.statements import CLIP_STATES, CLIPS
from ilfo.discriminators.expert_mean import mean_features
from tests.helpers.agents import as_steps, plain_mmd

STATES = [np.arange(6.0).reshape(3, 2), np.full((1, 2), 7.0), np.arange(4.0).reshape(2, 2)]


def clips() -> Demonstrations:
    return Demonstrations.from_arrays(STATES, terminal=False, metadata={CLIPS: True})


def test_they_may_have_one_state_but_not_none():
    assert clips().lengths.tolist() == [2, 0, 1]
    assert clips().clips
    with pytest.raises(ValueError, match=r"trajectory 1: .* two states or more.*only clips"):
        Demonstrations.from_arrays(STATES, terminal=False)
    with pytest.raises(ValueError, match=r"\(0, 2\), expected one state or more"):
        Demonstrations.from_arrays([np.zeros((0, 2))], terminal=False, metadata={CLIPS: True})
    streamed = Demonstrations.stream(
        lambda: (Trajectory(states, False) for states in STATES), metadata={CLIPS: True}
    )
    assert streamed.count() == 3


def test_a_file_keeps_them(tmp_path):
    clips().save(tmp_path / "clips.npz")
    loaded = Demonstrations.load(tmp_path / "clips.npz")
    assert loaded.clips
    for ours, theirs in zip(STATES, loaded, strict=True):
        np.testing.assert_array_equal(ours, theirs.states)
    assert loaded.take(2).states_only().clips


COLUMNS = {"x": np.arange(6.0), "y": np.zeros(6), "episode": [0, 0, 0, 1, 2, 2]}


def test_a_table_may_hold_them(tmp_path):
    rows = zip(*COLUMNS.values(), strict=True)
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "clips.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"trajectory 1: .* only clips may have one \(--clips"):
        Demonstrations.load(tmp_path / "clips.csv", terminal=False)
    read = Demonstrations.load(tmp_path / "clips.csv", terminal=False, clips=True)
    assert read.lengths.tolist() == [2, 0, 1]
    assert read.clips
    assert read.names == ("x", "y")
    again = Demonstrations.from_table(COLUMNS, terminal=False, clips=True, metadata={"a": 1})
    assert again.metadata == {"a": 1, "clips": True}
    timed = {"x": np.arange(2.0), "time": [0.0, 7.0], "episode": [0, 1]}
    assert Demonstrations.from_table(timed, terminal=False, clips=True).seconds is None
    read.save(tmp_path / "clips.parquet")
    assert Demonstrations.load(tmp_path / "clips.parquet").lengths.tolist() == [2, 0, 1]


def test_arrays_and_folders_may_hold_them(tmp_path):
    np.save(tmp_path / "single.npy", np.zeros((2, 1, 3)))
    whole = {"lengths": [2, 0], "terminal": [False, False], "states": np.zeros((4, 2))}
    np.savez(tmp_path / "plain.npz", **whole)
    clips().save(tmp_path / "folder")
    for name in ("single.npy", "plain.npz", "folder"):
        options = {} if name == "plain.npz" else {"terminal": False}
        with pytest.raises(ValueError, match="expected"):
            list(Demonstrations.load(tmp_path / name, **options))
        loaded = Demonstrations.load(tmp_path / name, clips=True, **options)
        assert loaded.clips
        assert min(len(each.states) for each in loaded) == 1


def test_what_is_cut_or_said_is_a_clip(tmp_path):
    whole = Demonstrations.from_arrays([np.zeros((5, 2))], terminal=False)
    assert not whole.clips
    assert whole.as_clips().clips
    assert altered.clips(whole, 3, 2).metadata | {} == {CLIPS: True, CLIP_STATES: 3}
    # files of before there was a statement
    old = Demonstrations.from_arrays([np.zeros((5, 2))], terminal=False, metadata={CLIP_STATES: 5})
    assert old.clips
    with pytest.raises(ValueError, match="clips is 'yes', but must be true or false"):
        Demonstrations.from_arrays([np.zeros((5, 2))], terminal=False, metadata={CLIPS: "yes"})
    whole.save(tmp_path / "a.npz")
    clips().save(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="some files of the folder hold clips"):
        Demonstrations.load(tmp_path)


@pytest.mark.parametrize("states", [0, 1, -3])
def test_no_clip_of_nothing_is_cut(states):
    whole = Demonstrations.from_arrays([np.zeros((5, 2))], terminal=False)
    with pytest.raises(ValueError, match="at least two states"):
        altered.clips(whole, states, 2)


def test_a_single_state_has_no_actions_to_check():
    taken = [np.zeros((2, 1), np.float32), np.zeros((0, 1), np.float32), np.ones((1, 1))]
    whole = Demonstrations.from_arrays(
        STATES, terminal=False, actions=taken, metadata={CLIPS: True}
    )
    space = action_space(gym.spaces.Box(-1, 1, (1,)))
    assert len(list(Needs(actions=True).checked(whole, space))) == 3


def test_a_single_state_is_no_step():
    steps = sample(clips(), 100, np.random.default_rng(0))
    assert sorted(steps.trajectory.tolist()) == [0, 0, 2]
    without = Demonstrations.from_arrays([STATES[0], STATES[2]], terminal=False)
    spec = plain_mmd(8)
    fitted = spec.init(as_steps(steps.pairs), None, key=jax.random.key(0))
    seeds = jax.tree.map(lambda x: x[None] if isinstance(x, jax.Array) else x, fitted)
    means = [mean_features(each, spec, seeds, 10) for each in (clips(), without)]
    np.testing.assert_array_equal(*means)
    single = Demonstrations.from_arrays([STATES[1]], terminal=False, metadata={CLIPS: True})
    with pytest.raises(ValueError, match="all demonstrations are clips of one state"):
        sample(single, 100, np.random.default_rng(0))
