import json
import re
import zipfile
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilfo.demonstrations import DemonstrationError, Demonstrations, Trajectory
from ilfo.describe import describe

LENGTHS = (3, 1, 5)  # transitions, so one more state each


def arrays(seed=0, lengths=LENGTHS, dim=2):
    rng = np.random.default_rng(seed)
    states = [rng.normal(size=(t + 1, dim)).astype(np.float32) for t in lengths]
    actions = [rng.normal(size=(t, 1)) for t in lengths]
    return states, actions


def example(seed=0, **kwargs):
    states, actions = arrays(seed)
    kwargs = {"metadata": {"env": "Toy-v0", "seed": seed}, "returns": [1.0, 2.0, 6.0]} | kwargs
    return Demonstrations.from_arrays(
        states, terminal=[True, False, True], actions=actions, **kwargs
    )


def assert_same(left, right, *, actions=True):
    left, right = list(left), list(right)
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.states.dtype == b.states.dtype == np.float32
        assert np.array_equal(a.states, b.states)
        assert a.terminal is b.terminal
        assert b.actions is None or actions
        if actions:
            assert np.array_equal(a.actions, b.actions)


def save_members(path, **changes):
    """A valid file with some members replaced, or dropped where the value is None."""
    states, actions = arrays()
    members = {
        "states": np.concatenate(states),
        "lengths": np.array(LENGTHS),
        "terminal": np.array([True, False, True]),
        "actions": np.concatenate(actions),
        "format": np.array(1),
    } | changes
    np.savez(path, **{name: value for name, value in members.items() if value is not None})
    return path


def replace_bytes(path, member, content):
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert member in held
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in held.items():
            archive.writestr(name, content if name == member else old)


@pytest.fixture
def shards(tmp_path):
    folder = tmp_path / "shards"
    for seed in (1, 0, 2):  # written out of order: names decide
        example(seed).save(folder / f"{seed:03}.npz")
    return folder


# In memory


def test_from_arrays_keeps_what_it_was_given():
    states, actions = arrays()
    demos = example()
    assert len(demos) == demos.count() == 3
    assert demos.lengths.tolist() == list(LENGTHS)
    assert demos.states_count == 12
    assert demos.dim == 2
    assert [t.terminal for t in demos] == [True, False, True]
    for trajectory, s, a in zip(demos, states, actions, strict=True):
        assert np.array_equal(trajectory.states, s)
        assert np.array_equal(trajectory.actions, a)
    assert_same(demos, demos)  # a second pass finds the same


def test_one_array_of_equal_trajectories():
    block = np.arange(24).reshape(2, 4, 3)
    demos = Demonstrations.from_arrays(block, terminal=False)
    assert [t.states.tolist() for t in demos] == block.tolist()
    assert [t.terminal for t in demos] == [False, False]
    assert all(t.actions is None for t in demos)


def test_nothing_can_be_changed_afterwards():
    states, actions = arrays()
    metadata = {"expert_return": 1.0}
    returns = np.array([1.0, 2.0, 3.0])
    demos = Demonstrations.from_arrays(
        states, terminal=True, actions=actions, returns=returns, metadata=metadata
    )
    kept = states[0].copy()
    for mutable in (*states, *actions, returns):
        mutable[...] = 7.0
    metadata["expert_return"] = demos.metadata["expert_return"] = 7.0
    first = next(iter(demos))
    assert np.array_equal(first.states, kept)
    assert demos.expert_return == 1.0
    assert demos.returns.tolist() == [1.0, 2.0, 3.0]
    for array in (first.states, first.actions, demos.returns, demos.lengths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


def test_returns_come_from_metadata_then_from_the_trajectories():
    assert example().expert_return == 3.0
    assert example(metadata={"expert_return": 460.2}).expert_return == 460.2
    assert example(returns=None).expert_return is None
    assert example().random_return is None
    assert example(metadata={"random_return": -4}).random_return == -4.0


def test_take():
    taken = example().take(2)
    assert_same(list(example())[:2], taken)
    assert (len(taken), taken.states_count, taken.returns.tolist()) == (2, 6, [1.0, 2.0])
    assert taken.metadata == {"env": "Toy-v0", "seed": 0}
    assert len(taken.take(1)) == 1
    for n in (0, -1, 4):
        with pytest.raises(ValueError, match=rf"take\({n}\).*between 1 and 3"):
            example().take(n)


GOOD = np.zeros((3, 2))


def with_value(value, dtype=np.float64):
    states = np.zeros((3, 2), dtype)
    states[2, 1] = value
    return states


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((1, 2, 2)), r"shape \(1, 2, 2\)"),
        (np.zeros((1, 2)), "two states"),
        (np.zeros((0, 2)), "two states"),
        (np.zeros((3, 0)), "S >= 1"),
        (np.zeros((3, 3)), "dimension 3.*2"),
        (with_value(np.nan), "step 2, dimension 1 is nan"),
        (with_value(-np.inf), "step 2, dimension 1 is -inf"),
        (with_value(1e39), r"step 2, dimension 1 is 1e\+39.*float32"),
        (with_value("x", object), "dtype object"),
        (np.full((3, 2), "1.0"), "dtype <U3"),
        (np.zeros((3, 2), complex), "dtype complex128"),
        ([[1.0, 2.0], [3.0]], "inhomogeneous"),
    ],
)
def test_malformed_states_are_refused_by_index(bad, complaint):
    with pytest.raises(ValueError, match=f"(?s)^trajectory 1: .*{complaint}"):
        Demonstrations.from_arrays([GOOD, bad], terminal=False)
    streamed = Demonstrations.stream(lambda: [Trajectory(GOOD, False), Trajectory(bad, False)])
    with pytest.raises(ValueError, match=f"(?s)^trajectory 1: .*{complaint}"):
        list(streamed)


@pytest.mark.parametrize(
    ("kwargs", "complaint"),
    [
        ({"terminal": [True]}, r"terminal has .*shape \(1,\).*2 trajectories"),
        ({"terminal": [True, False, True]}, r"terminal has .*shape \(3,\)"),
        ({"terminal": [0, 1]}, "terminal has dtype int64"),
        ({"terminal": None}, "terminal has dtype object"),
        ({"actions": [np.zeros((2, 1))]}, "actions are given for 1 of 2"),
        ({"actions": [np.zeros((2, 1)), np.zeros((3, 1))]}, "^trajectory 1: has 3 .* expected 2"),
        ({"actions": [np.zeros(2), np.float64(0)]}, "^trajectory 1: has 0 .* expected 2"),
        ({"returns": [1.0]}, r"returns have .*shape \(1,\)"),
        ({"returns": [1.0, "a"]}, "returns have dtype"),
        ({"returns": [1.0, np.nan]}, "^trajectory 1: its return is nan"),
        ({"metadata": {"array": GOOD}}, "metadata must be a dict that JSON can hold"),
        ({"metadata": {"expert_return": float("nan")}}, "metadata must be a dict"),
    ],
)
def test_malformed_company_of_states_is_refused(kwargs, complaint):
    with pytest.raises(ValueError, match=complaint):
        Demonstrations.from_arrays([GOOD, GOOD], **({"terminal": False} | kwargs))


@pytest.mark.parametrize("terminal", [True, []])
def test_no_trajectories(terminal):
    with pytest.raises(ValueError, match="no trajectories"):
        Demonstrations.from_arrays([], terminal=terminal)


def test_how_a_trajectory_ends_must_be_said():
    with pytest.raises(TypeError, match="terminal"):
        Demonstrations.from_arrays([GOOD])


def test_actions_are_not_looked_at():
    actions = [np.full((2, 1), np.nan), np.array(["left", None], dtype=object)]
    demos = Demonstrations.from_arrays([GOOD, GOOD], terminal=False, actions=actions)
    assert [len(t.actions) for t in demos] == [2, 2]


numbers = st.one_of(
    hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.complex_number_dtypes()
)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
matrices = hnp.arrays(st.one_of(numbers, st.just(np.dtype("U2"))), shapes)
plausible = hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.just(2)))


@settings(max_examples=200, deadline=None)
@given(states=st.lists(st.one_of(matrices, plausible), min_size=1, max_size=3), flag=st.booleans())
def test_any_array_is_kept_or_refused_by_index(states, flag):
    try:
        demos = Demonstrations.from_arrays(states, terminal=flag)
    except ValueError as error:
        named = re.match(r"trajectory (\d+): ", str(error))
        assert named
        assert int(named[1]) < len(states)
        return
    assert len(demos) == len(states)
    for given_, kept in zip(states, demos, strict=True):
        assert np.array_equal(kept.states, given_.astype(np.float32))
        assert np.isfinite(kept.states).all()


# Streams


def test_stream_reads_afresh_and_knows_its_size_after_counting():
    passes = []

    def open_():
        passes.append(1)
        yield from example()

    demos = Demonstrations.stream(open_, metadata={"env": "Toy-v0"})
    assert not passes  # nothing is read before it is asked for
    assert bool(demos)
    with pytest.raises(TypeError, match=r"count\(\)"):
        len(demos)
    assert demos.dim == 2
    assert_same(example(), demos)
    assert_same(example(), demos)
    assert (demos.count(), demos.states_count, len(demos)) == (3, 12, 3)
    assert demos.metadata == {"env": "Toy-v0"}
    assert demos.expert_return is None


def test_stream_hands_over_copies():
    buffer = np.zeros((2, 2), np.float32)

    def open_():
        for value in (1.0, 2.0):
            buffer[...] = value
            yield Trajectory(buffer, terminal=False)

    assert [t.states[0, 0] for t in Demonstrations.stream(open_)] == [1.0, 2.0]


def test_stream_stops_at_the_first_bad_trajectory():
    trajectories = iter(
        Demonstrations.stream(lambda: [Trajectory(GOOD, False), Trajectory(GOOD, 1)])
    )
    assert next(trajectories).terminal is False
    with pytest.raises(ValueError, match=r"^trajectory 1: terminal is 1, expected True or False"):
        next(trajectories)
    with pytest.raises(ValueError, match=r"^trajectory 0: is a ndarray"):
        list(Demonstrations.stream(lambda: [GOOD]))
    with pytest.raises(ValueError, match="no trajectories"):
        list(Demonstrations.stream(lambda: []))


def test_an_iterator_that_can_be_read_only_once_is_refused():
    once = iter(example())
    with pytest.raises(ValueError, match="same iterator twice"):
        Demonstrations.stream(lambda: once)


def test_take_from_a_stream():
    def open_():
        yield from example()
        raise RuntimeError("read too far")

    demos = Demonstrations.stream(open_, metadata={"env": "Toy-v0"})
    assert_same(list(example())[:2], demos.take(2))
    assert demos.take(2).metadata == {"env": "Toy-v0"}
    short = Demonstrations.stream(lambda: example()).take(4)
    with pytest.raises(ValueError, match=r"take\(4\).*only 3"):
        list(short)


# Files


def test_round_trip(tmp_path):
    path = tmp_path / "new" / "demos.npz"
    demos = example()
    demos.save(path)
    assert [file.name for file in path.parent.iterdir()] == ["demos.npz"]
    loaded = Demonstrations.load(path, actions=True)
    assert_same(demos, loaded)
    assert len(loaded) == 3
    assert loaded.metadata == demos.metadata
    assert loaded.returns.tolist() == demos.returns.tolist()
    assert_same(demos, Demonstrations.load(str(path)), actions=False)
    with pytest.raises(ValueError, match="read-only"):
        next(iter(loaded)).states[0] = 0.0


def test_layout_of_the_file(tmp_path):
    example().save(tmp_path / "demos.npz")
    with np.load(tmp_path / "demos.npz", allow_pickle=False) as file:
        held = {name: (file[name].dtype.kind, file[name].shape) for name in file.files}
        metadata = json.loads(str(file["metadata"]))
        assert file["states"].dtype == np.float32
        assert file["lengths"].dtype == np.int64
        assert file["format"] == 1
    assert metadata == {"env": "Toy-v0", "seed": 0}
    assert held == {
        "format": ("i", ()),
        "states": ("f", (12, 2)),
        "lengths": ("i", (3,)),
        "terminal": ("b", (3,)),
        "metadata": ("U", ()),
        "actions": ("f", (9, 1)),
        "returns": ("f", (3,)),
    }


def test_same_content_gives_the_same_bytes(tmp_path, monkeypatch):
    example(metadata={"a": 1, "b": 2}).save(tmp_path / "one.npz")
    monkeypatch.setattr("time.time", lambda: 2e9)
    example(metadata={"b": 2, "a": 1}).save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_save_never_overwrites(tmp_path):
    path = tmp_path / "demos.npz"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match=r"demos\.npz exists"):
        example().save(path)
    assert path.read_text() == "precious"


def test_a_failed_save_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail_halfway(file, **_):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail_halfway)
    with pytest.raises(OSError, match="disk full"):
        example().save(tmp_path / "demos.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "actions",
    [
        [np.zeros((2, 1)), np.zeros((2, 3))],
        [np.zeros(2), None],
        [np.zeros(2), np.array([None, None])],
    ],
)
def test_actions_that_do_not_fit_a_file(tmp_path, actions):
    demos = Demonstrations.stream(lambda: [Trajectory(GOOD, False, each) for each in actions])
    with pytest.raises(ValueError, match="cannot save actions"):
        demos.save(tmp_path / "demos.npz")
    assert not list(tmp_path.iterdir())


def test_actions_are_not_decoded_unless_asked_for(tmp_path):
    path = tmp_path / "demos.npz"
    example().save(path)
    replace_bytes(path, "actions.npy", b"\x93NUMPY garbage")
    assert_same(example(), Demonstrations.load(path), actions=False)
    assert_same(example(), Demonstrations.load(tmp_path), actions=False)
    with pytest.raises(DemonstrationError, match=r"demos\.npz"):
        Demonstrations.load(path, actions=True)


def test_shards_equal_the_whole(shards):
    demos = Demonstrations.load(shards, actions=True)
    whole = [trajectory for seed in (0, 1, 2) for trajectory in example(seed)]
    assert_same(whole, demos)
    assert_same(whole, demos)
    assert (len(demos), demos.states_count, demos.dim) == (9, 36, 2)
    assert demos.returns.tolist() == [1.0, 2.0, 6.0] * 3
    assert demos.metadata == {"env": "Toy-v0"}  # the seeds differ
    assert_same(whole[:4], demos.take(4))
    assert_same(whole, Demonstrations.load(shards), actions=False)


def test_shards_are_read_one_at_a_time(shards):
    demos = Demonstrations.load(shards)
    (shards / "002.npz").unlink()
    assert demos.take(6).count() == 6
    passing = iter(demos)
    for _ in range(6):
        next(passing)
    with pytest.raises(FileNotFoundError, match=r"002\.npz"):
        next(passing)


def test_shards_of_another_dimension_are_refused(tmp_path):
    Demonstrations.from_arrays([GOOD], terminal=True).save(tmp_path / "a.npz")
    Demonstrations.from_arrays([np.zeros((2, 3))], terminal=True).save(tmp_path / "b.npz")
    with pytest.raises(DemonstrationError, match=r"b\.npz: trajectory 0: .*dimension 3.* 2"):
        list(Demonstrations.load(tmp_path))


def test_a_file_made_by_hand(tmp_path):
    path = save_members(tmp_path / "demos.npz", format=None, actions=None)
    assert_same(example(), Demonstrations.load(path), actions=False)
    with pytest.raises(DemonstrationError, match=r"demos\.npz.* no actions"):
        Demonstrations.load(path, actions=True)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"states": None}, "no states"),
        ({"lengths": None}, "no lengths"),
        ({"terminal": None}, "no terminal"),
        ({"format": np.array(2)}, "format is 2"),
        ({"states": np.zeros((11, 2))}, "ask for 12 states, the file holds 11"),
        ({"states": np.zeros(12)}, r"trajectory 0: states have shape \(4,\)"),
        ({"states": np.full((12, 2), np.inf)}, "trajectory 0: .*step 0, dimension 0 is inf"),
        ({"states": np.zeros((12, 2), object)}, "allow_pickle"),
        ({"lengths": np.array([3, 0, 6])}, "trajectory 1: its length is 0"),
        ({"lengths": np.array([3, 2**63 - 1, 2**63 - 1])}, "ask for .* the file holds 12"),
        ({"lengths": np.zeros(0, int)}, "at least one trajectory"),
        ({"lengths": np.array([3.0, 1.0, 5.0])}, "lengths have dtype float64"),
        ({"terminal": np.array([True])}, "terminal has"),
        ({"terminal": np.array([1, 0, 1])}, "terminal has dtype int64"),
        ({"returns": np.zeros(2)}, "returns have"),
        ({"returns": np.zeros(3, "i,i")}, "returns have dtype"),
        ({"metadata": np.array("{")}, "metadata is not JSON"),
        ({"metadata": np.array("[1]")}, "metadata is a list"),
        ({"metadata": np.array('{"expert_return": NaN}')}, "metadata must be"),
        ({"metadata": np.array({"a": 1})}, "allow_pickle"),
        ({"actions": np.zeros((8, 1))}, "ask for 9 actions, the file holds 8"),
    ],
)
def test_malformed_files_are_refused_by_name(tmp_path, changes, complaint):
    path = save_members(tmp_path / "bad.npz", **changes)
    with pytest.raises(DemonstrationError, match=rf"(?s)bad\.npz.*{complaint}"):
        list(Demonstrations.load(path, actions=True))


def test_a_valid_file_passes_where_the_malformed_ones_fail(tmp_path):
    path = save_members(tmp_path / "good.npz")
    assert_same(example(), Demonstrations.load(path, actions=True))


def test_files_of_another_kind(tmp_path):
    path = tmp_path / "demos.npz"
    for content in (b"", b"state,state\n1,2\n", b"PK\x03\x04", b"\x80\x04K\x01."):
        path.write_bytes(content)
        with pytest.raises(DemonstrationError, match=r"demos\.npz cannot be read"):
            Demonstrations.load(path)
    np.save(tmp_path / "array.npy", GOOD)
    with pytest.raises(DemonstrationError, match="single array"):
        Demonstrations.load(tmp_path / "array.npy")
    save_members(path)
    replace_bytes(path, "states.npy", b"no array at all")
    with pytest.raises(DemonstrationError, match="states is not an array"):
        Demonstrations.load(path)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no demonstrations at .*nowhere\.npz"):
        Demonstrations.load(tmp_path / "nowhere.npz")
    with pytest.raises(DemonstrationError, match=r"directory without \.npz"):
        Demonstrations.load(tmp_path)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A valid file's bytes, and a place to put what has become of them."""
    path: Path = tmp_path_factory.mktemp("damaged") / "demos.npz"
    example().save(path)
    return path.read_bytes(), path


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_truncated_file_is_refused(damaged, data):
    content, path = damaged
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(DemonstrationError, match=r"demos\.npz"):
        Demonstrations.load(path, actions=True)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_flipped_byte_is_refused_or_harmless(damaged, data):
    content, path = damaged
    changed = bytearray(content)
    changed[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    try:
        loaded = list(Demonstrations.load(path, actions=True))
    except DemonstrationError:
        return
    assert_same(example(), loaded)


# Describing


def test_describe_reports_what_a_hand_count_finds():
    one = np.array([[1.0, 5.0], [3.0, 5.0]])
    two = np.array([[2.0, 5.0], [4.0, 5.0], [8.0, 5.0], [6.0, 5.0]])
    demos = Demonstrations.from_arrays(
        [one, two, one],
        terminal=[True, False, True],
        returns=[1.0, 2.0, 6.0],
        metadata={"env": "Toy-v0"},
    )
    lines = describe(demos).splitlines()
    assert "trajectories  3" in lines
    assert "states        8 of dimension 2" in lines
    assert "transitions   min 1, median 1, max 3 per trajectory" in lines
    assert "endings       2 terminal, 1 cut off" in lines
    assert "returns       min 1, median 2, max 6, mean 3" in lines
    assert "env           Toy-v0" in lines
    std = np.std([1, 3, 2, 4, 8, 6, 1, 3])
    assert ["0", "1", "3.5", f"{std:.5g}", "8"] in [line.split() for line in lines]
    assert ["1", "5", "5", "0", "5"] in [line.split() for line in lines]
    assert "constant dimensions: 1" in lines
    assert "repeated trajectories: 2 (as 0)" in lines


def test_describe_says_so_when_there_is_nothing_to_point_out():
    text = describe(example(returns=None))
    assert "constant dimensions: none" in text
    assert "repeated trajectories: none" in text
    assert "returns" not in text


def test_describe_makes_one_pass_and_survives_a_large_offset():
    passes = []

    def open_():
        passes.append(1)
        # A difference of float32 sums of squares would lose this spread entirely.
        for sign in (-1, 1):
            yield Trajectory(np.full((2, 1), 1e6 + 2.0 * sign), terminal=False)

    rows = [line.split() for line in describe(Demonstrations.stream(open_)).splitlines()]
    assert ["0", "1e+06", "1e+06", "2", "1e+06"] in rows
    assert len(passes) == 1


def test_describe_cuts_a_long_list_of_repeats():
    text = describe(Demonstrations.from_arrays([GOOD] * 14, terminal=False))
    assert "10 (as 0) and 3 more" in text
