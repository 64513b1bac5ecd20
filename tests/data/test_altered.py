"""Recordings made worse on purpose: what is kept, what the metadata say, and wrong requests."""

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.statements import CLIPS


def recordings(lengths=(10, 7), terminal=(True, False)):
    """State t of trajectory i is (100 i + t, -t)."""
    states = [
        np.stack([100 * i + np.arange(length), -np.arange(length)], 1).astype(np.float32)
        for i, length in enumerate(lengths)
    ]
    actions = [np.full((length - 1, 1), np.nan) for length in lengths]
    return Demonstrations.from_arrays(
        states, terminal=list(terminal), actions=actions, returns=[1.0, 3.0]
    )


def test_thinning_keeps_every_third_state_and_says_so():
    thinned = altered.thin(recordings(), 3)
    first, second = thinned
    assert first.states[:, 0].tolist() == [0, 3, 6, 9]
    assert second.states[:, 0].tolist() == [100, 103, 106]
    assert (first.terminal, second.terminal) == (True, False)
    assert first.actions is None
    assert thinned.metadata["states_every"] == 3
    assert altered.thin(thinned, 2).metadata["states_every"] == 6
    assert thinned.expert_return == 2.0


def test_thinned_clips_may_have_one_state():
    cut = altered.clips(recordings(), 5, 4)
    assert [len(each.states) for each in altered.thin(cut, 4)] == [2, 2, 2, 2]
    assert altered.thin(cut, 2).metadata == cut.metadata | {"clip_states": 3, "states_every": 2}
    given = [each.states[-length:] for each, length in zip(recordings(), (1, 5), strict=True)]
    uneven = Demonstrations.from_arrays(given, terminal=False, metadata={"clips": True})
    assert altered.thin(uneven, 4).lengths.tolist() == [0, 1]
    with pytest.raises(ValueError, match="every=5 leaves one state of each clip"):
        altered.thin(uneven, 5)


def test_thinning_whole_recordings_does_not_speak_of_clips():
    whole = Demonstrations.from_arrays([np.arange(10.0)[:, None]], terminal=False)
    with pytest.raises(ValueError, match="leaves one of its 10 states"):
        altered.thin(whole, 12)
    single = Demonstrations.from_arrays([np.ones((1, 1))], terminal=False, metadata={CLIPS: True})
    assert altered.thin(single, 1).lengths.tolist() == [0]


def test_the_shortest_clip_is_said_of_the_clips_that_were_cut_last():
    cut = altered.clips(recordings(), 6, 5, shortest=4)
    assert "clip_shortest" in cut.metadata
    assert "clip_shortest" not in altered.clips(cut, 3, 5).metadata


def test_clips_of_unequal_length():
    cut = altered.clips(recordings(), 4, 100, shortest=1)
    assert set(cut.lengths.tolist()) == {0, 1, 2, 3}
    assert cut.metadata["clip_shortest"] == 1
    firsts = {int(each.states[0, 0]) for each in cut}
    assert firsts == {*range(7), *range(100, 104)}
    for wrong in (0, 5, 1.5):
        with pytest.raises(ValueError, match=r"shortest is .* whole number from 1 to 4"):
            altered.clips(recordings(), 4, 5, shortest=wrong)


def test_numbers_of_numpy():
    two = np.int64(2)
    assert altered.thin(recordings(), two).every == 2
    assert altered.select(recordings(), np.array([1])).observed == (1,)
    assert altered.clips(recordings(), two, two).metadata["clip_states"] == 2
    assert altered.noisy(recordings(), np.float32(0.5)).metadata["noise"] == 0.5


def test_selected_dimensions_are_numbered_as_in_the_whole_state():
    once = altered.select(recordings(), [1, 0])
    assert next(iter(once)).states[3].tolist() == [-3, 3]
    assert once.metadata["observed"] == [1, 0]
    assert altered.select(once, [1]).metadata["observed"] == [0]


def test_dimensions_are_selected_by_their_names():
    states = [np.arange(12, dtype=np.float32).reshape(3, 4)]
    names = ["x", "goal.0", "goal.1", "goals"]
    named = Demonstrations.from_arrays(states, terminal=False, metadata={"names": names})
    chosen = altered.select(named, ["goal", "0"])
    assert chosen.metadata["observed"] == [1, 2, 0]
    assert chosen.names == ("goal.0", "goal.1", "x")
    assert altered.select(named, ["goals,0", "goal"]).observed == (3, 0, 1, 2)
    assert altered.select(named, "goal").observed == (1, 2)
    with pytest.raises(ValueError, match=r"no dimension 'y'; .* x, goal\.0, goal\.1, goals"):
        altered.select(named, ["y"])
    with pytest.raises(ValueError, match="these recordings name none"):
        altered.select(recordings(), ["y"])


def test_noise_is_in_units_of_each_dimension_and_adds_up():
    clean = recordings((2000, 2000))
    shaken = altered.noisy(clean, 0.3)
    pairs = zip(clean, shaken, strict=True)
    errors = np.concatenate([b.states - a.states for a, b in pairs])
    scale = np.concatenate([each.states for each in clean]).std(0)
    assert np.allclose(errors.std(0), 0.3 * scale, rtol=0.05)
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.05
    assert altered.noisy(shaken, 0.4).metadata["noise"] == pytest.approx(0.5)
    same = altered.noisy(clean, 0.3)
    assert all(np.array_equal(a.states, b.states) for a, b in zip(shaken, same, strict=True))


def test_clips_begin_anywhere_and_none_is_terminal():
    cut = altered.clips(recordings(), 4, 200)
    firsts = {int(each.states[0, 0]) for each in cut}
    assert firsts == {*range(7), *range(100, 104)}
    for each in cut:
        assert np.diff(each.states[:, 0]).tolist() == [1, 1, 1]
        assert not each.terminal
    assert cut.metadata["clip_states"] == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: altered.thin(x, 0), "at least 1"),
        (lambda x: altered.thin(x, 8), "trajectory 1: every=8 leaves one of its 7 states"),
        (lambda x: altered.select(x, [0, 2]), "from 0 to 1"),
        (lambda x: altered.select(x, []), "from 0 to 1"),
        (lambda x: altered.select(x, [1, 1]), "different numbers"),
        (lambda x: altered.noisy(x, 0.0), "above 0"),
        (lambda x: altered.noisy(x, np.inf), "share is inf, but must be a number above 0"),
        (lambda x: altered.noisy(x, "20%"), "share is '20%', but must be a number above 0"),
        (lambda x: altered.noisy(x, 0.1, seed=-1), "seed is -1, but must be"),
        (lambda x: altered.clips(x, 3, 5, seed=-1), "seed is -1, but must be"),
        (lambda x: altered.clips(x, 3.0, 5), r"clips of 3\.0 states"),
        (lambda x: altered.thin(x, 2.5), "^every is 2.5, but must be a whole number"),
        (lambda x: altered.clips(x, 1, 5), "at least two states"),
        (lambda x: altered.clips(x, 11, 5), "the longest has 10"),
    ],
)
def test_requests_that_cannot_be_met(change, words):
    with pytest.raises(ValueError, match=words):
        change(recordings())


@pytest.mark.parametrize(
    ("arguments", "entry"),
    [
        (["thin", "--every", "2"], "states_every  2"),
        (["select", "--dimensions", "1"], r"observed      [1]"),
        (["noise", "--share", "0.1"], "noise         0.1"),
        (["select", "--dimensions", "1,0"], r"observed      [1, 0]"),
        (["clip", "--states", "3", "--count", "4"], "clip_states   3"),
        (["clip", "--states", "3", "--shortest", "1"], "clip_shortest 1"),
    ],
)
def test_from_the_command_line(arguments, entry, tmp_path, capsys):
    recordings().save(tmp_path / "in.npz")
    name, *options = arguments
    command = ["demos", name, str(tmp_path / "in.npz"), str(tmp_path / "out.npz"), *options]
    main(command)
    assert entry in capsys.readouterr().out
    assert Demonstrations.load(tmp_path / "out.npz").metadata
    with pytest.raises(SystemExit):
        main(command)
    assert "exists" in capsys.readouterr().err
