"""Lists of episodes: what is read of them, and that nothing in the file is ever run."""

import collections
import contextlib
import io
import pickle  # noqa: TID251, to write what must not be run
import zipfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ilfo.cli import main
from ilfo.data.demonstrations import DemonstrationError, Demonstrations
from ilfo.data.safe_pickle import PickleError, read_pickle
from ilfo.data.statements import CLIPS

HORIZON = 5


def episode(steps: int, *, done: bool, seed: int = 0) -> dict:
    """As MobILE's authors have it: a row per step."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(steps + 1, 3))
    actions, rewards = rng.normal(size=(steps, 2)), rng.normal(size=steps)
    dones = np.zeros(steps, bool)
    dones[-1] = done
    return {"episode": (states[:-1], actions, states[1:], rewards, dones), "ep_rew": rewards.sum()}


def saved(path: Path, episodes, protocol: int = 2) -> Path:
    path.write_bytes(pickle.dumps(episodes, protocol))
    return path


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_gives_the_same_trajectories(tmp_path, protocol):
    episodes = [episode(3, done=True), episode(HORIZON, done=True, seed=1)]
    path = saved(tmp_path / "e.pkl", episodes, protocol)
    demos = Demonstrations.from_episodes(path, horizon=HORIZON, actions=True)
    for trajectory, entry in zip(demos, episodes, strict=True):
        before, actions, after, _, _ = entry["episode"]
        np.testing.assert_array_equal(trajectory.states[:-1], before.astype(np.float32))
        np.testing.assert_array_equal(trajectory.states[-1], after[-1].astype(np.float32))
        np.testing.assert_array_equal(trajectory.actions, actions)
    np.testing.assert_allclose(demos.returns, [entry["ep_rew"] for entry in episodes])


def test_done_at_the_horizon_is_a_time_limit(tmp_path):
    episodes = [episode(3, done=True), episode(HORIZON, done=True), episode(3, done=False)]
    demos = Demonstrations.from_episodes(saved(tmp_path / "e.pkl", episodes), horizon=HORIZON)
    assert [trajectory.terminal for trajectory in demos] == [True, False, False]
    assert all(trajectory.actions is None for trajectory in demos)


def test_clips_may_have_a_single_state(tmp_path):
    path = saved(tmp_path / "e.pkl", [{"episode": np.ones((n, 3))} for n in (4, 1)])
    for more in ({"clips": True}, {"metadata": {CLIPS: True}}):
        found = Demonstrations.from_episodes(path, horizon=HORIZON, terminal=False, **more)
        assert found.clips
        assert found.lengths.tolist() == [3, 0]
    with pytest.raises(DemonstrationError, match="only clips may have one"):
        Demonstrations.from_episodes(path, horizon=HORIZON, terminal=False)
    convert = ["demos", "convert", str(path), "--horizon", str(HORIZON), "--terminal", "false"]
    main([*convert, "--clips", "--out", str(tmp_path / "e.npz")])
    assert Demonstrations.load(tmp_path / "e.npz").clips


def test_torch_files_of_both_kinds(tmp_path):
    torch = pytest.importorskip("torch")
    episodes = [episode(3, done=True), episode(4, done=True, seed=1)]
    for name, zipped in (("new.pt", True), ("old.pt", False)):
        torch.save(episodes, tmp_path / name, _use_new_zipfile_serialization=zipped)
        demos = Demonstrations.from_episodes(tmp_path / name, horizon=HORIZON)
        np.testing.assert_array_equal(
            next(iter(demos)).states[:-1], episodes[0]["episode"][0].astype(np.float32)
        )


def test_other_forms_of_an_episode(tmp_path):
    states = np.arange(8.0).reshape(4, 2)
    episodes = [{"episode": states}, {"episode": (states, np.zeros((3, 1)), np.zeros(3))}]
    path = saved(tmp_path / "e.pkl", episodes)
    demos = list(Demonstrations.from_episodes(path, horizon=9, terminal=True))
    assert [trajectory.states.tolist() for trajectory in demos] == [states.tolist()] * 2
    assert [trajectory.terminal for trajectory in demos] == [True, True]


def test_scalars_fortran_order_and_byte_order_survive():
    value = {
        "scalar": np.float32(1.5),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "big": np.arange(3, dtype=">f8"),
        "ordered": collections.OrderedDict(a=1),
        "shared": [np.ones(2)] * 2,
    }
    for protocol in range(6):
        data = read_pickle(io.BytesIO(pickle.dumps(value, protocol)))
        assert data["scalar"] == 1.5
        assert data["ordered"] == {"a": 1}
        np.testing.assert_array_equal(data["fortran"], value["fortran"])
        np.testing.assert_array_equal(data["big"], value["big"])
        np.testing.assert_array_equal(data["shared"][1], np.ones(2))


class Bomb:
    """Unpickling it would leave a file behind."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_is_run(tmp_path, protocol):
    mark = tmp_path / "run"
    path = saved(tmp_path / "e.pkl", [episode(3, done=True), Bomb(mark)], protocol)
    with pytest.raises(DemonstrationError, match="asks to call"):
        Demonstrations.from_episodes(path, horizon=HORIZON)
    assert not mark.exists()
    pickle.loads(path.read_bytes())  # noqa: S301, what was refused would have done it
    assert mark.exists()


def spoiled(**changes) -> dict:
    states, actions, after, rewards, dones = episode(3, done=True)["episode"]
    parts = {"states": states, "after": after, "dones": dones} | changes
    return {"episode": (parts["states"], actions, parts["after"], rewards, parts["dones"])}


def unknown() -> dict:
    before, _, after, _, _ = episode(3, done=True)["episode"]
    before[1, 0] = after[0, 0] = np.nan
    return {"states": before, "after": after}


UNKNOWN = unknown()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (spoiled(after=np.zeros((3, 3))), "trajectory 1: the next state of step 0"),
        (
            spoiled(after=np.zeros((2, 3))),
            r"trajectory 1: has states of shape \(3, 3\) and next states of shape \(2",
        ),
        (
            spoiled(dones=np.array([True, False, False])),
            "trajectory 1: is done at step 0, but has 3 steps",
        ),
        (spoiled(dones=np.zeros(2, bool)), r"trajectory 1: has 3 steps, but \[3, 3, 2\] rows"),
        (spoiled(dones=np.array([0, 0, np.nan])), "dones other than 0 and 1"),
        ({"episode": (1, 2)}, "trajectory 1: an episode must be"),
        (spoiled(**UNKNOWN), "trajectory 1: the state at step 1, dimension 0 is nan"),
        ({"episode": (np.zeros((0, 3)),) * 5}, "trajectory 1: has states"),
        ({"episode": np.zeros((9, 3))}, "trajectory 1: has 8 steps, more than the horizon of 5"),
        ({"episode": np.zeros((3, 2))}, "trajectory 1: "),
        ({"states": 1}, 'entry "episode"'),
        ({"episode": np.array([object()])}, "Python objects|not of numbers"),
    ],
)
def test_bad_episodes_are_named(tmp_path, bad, message):
    path = saved(tmp_path / "e.pkl", [episode(3, done=True), bad])
    with pytest.raises(DemonstrationError, match=message):
        Demonstrations.from_episodes(path, horizon=HORIZON)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damaged_files_give_clear_errors(tmp_path, data):
    whole = pickle.dumps([episode(3, done=True)], data.draw(st.integers(0, 5)))
    where = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.booleans())
    other = bytes([data.draw(st.integers(0, 255))])
    damaged = whole[:where] if cut else whole[:where] + other + whole[where + 1 :]
    path = tmp_path / "e.pkl"
    path.write_bytes(damaged)
    with contextlib.suppress(DemonstrationError):
        Demonstrations.from_episodes(path, horizon=HORIZON)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_give_clear_errors(raw):
    with contextlib.suppress(PickleError):
        read_pickle(io.BytesIO(raw))


def test_convert_writes_what_a_list_of_episodes_holds(tmp_path):
    path = saved(tmp_path / "e.pt", [episode(3, done=True)])
    out = tmp_path / "e.npz"
    main(["demos", "convert", str(path), "--out", str(out), "--horizon", "5", "--actions"])
    kept = next(iter(Demonstrations.load(out, actions=True)))
    assert (kept.states.shape, kept.actions.shape, kept.terminal) == ((4, 3), (3, 2), True)


def test_convert_asks_for_the_horizon_and_overwrites_nothing(tmp_path, capsys):
    path = saved(tmp_path / "e.pt", [episode(3, done=True)])
    taken = tmp_path / "taken.npz"
    taken.touch()
    with pytest.raises(SystemExit):
        main(["demos", "convert", str(path), "--out", str(tmp_path / "e.npz")])
    assert "--horizon" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["demos", "convert", str(path), "--out", str(taken), "--horizon", "5"])
    assert "exists already" in capsys.readouterr().err


def test_parts_of_other_lengths_are_refused_even_when_they_are_not_asked_for(tmp_path):
    states = np.zeros((10, 2))
    path = saved(tmp_path / "e.pkl", [{"episode": (states, np.zeros(10), np.zeros(10))}])
    with pytest.raises(DemonstrationError, match=r"trajectory 0: has 9 steps, but \[10, 10\] rows"):
        Demonstrations.from_episodes(path, horizon=10, terminal=False)
    bad = list(episode(3, done=True)["episode"])
    bad[3] = np.zeros(2)
    path = saved(tmp_path / "f.pkl", [{"episode": tuple(bad)}])
    with pytest.raises(DemonstrationError, match=r"has 3 steps, but \[3, 2, 3\] rows"):
        Demonstrations.from_episodes(path, horizon=10)


def test_an_ending_is_said_once_by_the_file_or_by_the_reader(tmp_path):
    silent = saved(tmp_path / "silent.pkl", [{"episode": np.zeros((4, 2))}])
    with pytest.raises(DemonstrationError, match="does not say whether it terminated"):
        Demonstrations.from_episodes(silent, horizon=9)
    loud = saved(tmp_path / "loud.pkl", [episode(3, done=True)])
    with pytest.raises(DemonstrationError, match="leave terminal out"):
        Demonstrations.from_episodes(loud, horizon=9, terminal=True)
    for terminal in (True, False):
        (trajectory,) = Demonstrations.from_episodes(silent, horizon=9, terminal=terminal)
        assert trajectory.terminal is terminal


def test_a_pickle_that_holds_itself_is_refused(tmp_path):
    loop: list = []
    loop.append(loop)
    with pytest.raises(DemonstrationError, match="nested too deeply, or contains itself"):
        Demonstrations.from_episodes(saved(tmp_path / "e.pkl", loop), horizon=9)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damaged_archives_give_clear_errors(tmp_path, data):
    path = tmp_path / "e.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("e/data.pkl", pickle.dumps([episode(3, done=True)], 2))
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    with contextlib.suppress(DemonstrationError):
        Demonstrations.from_episodes(path, horizon=HORIZON)
