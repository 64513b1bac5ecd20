import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilfo.data.demonstrations import DemonstrationError, Demonstrations, Trajectory
from tests.data.test_demonstrations import GOOD, LENGTHS, arrays, assert_same, example


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
    demos = Demonstrations.stream(lambda: [Trajectory(GOOD, False, array) for array in actions])
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
        ({"states": np.zeros((11, 2))}, "add up to 12 states, but the file holds 11"),
        ({"states": np.zeros(12)}, r"trajectory 0: states have shape \(4,\)"),
        ({"states": np.full((12, 2), np.inf)}, "trajectory 0: .*step 0, dimension 0 is inf"),
        ({"states": np.zeros((12, 2), object)}, "allow_pickle"),
        ({"lengths": np.array([3, 0, 6])}, "trajectory 1: its length is 0"),
        ({"lengths": np.array([3, 2**63 - 1, 2**63 - 1])}, "add up to .* but the file holds 12"),
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
        ({"actions": np.zeros((8, 1))}, "add up to 9 actions, but the file holds 8"),
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
    with path.open("wb") as file:
        np.save(file, GOOD)
    with pytest.raises(DemonstrationError, match="single array"):
        Demonstrations.load(path)
    save_members(path)
    replace_bytes(path, "states.npy", b"no array at all")
    with pytest.raises(DemonstrationError, match="states is not an array"):
        Demonstrations.load(path)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no demonstrations at .*nowhere\.npz"):
        Demonstrations.load(tmp_path / "nowhere.npz")
    with pytest.raises(DemonstrationError, match=r"folder that should hold .*\.npz.*: none"):
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


@pytest.mark.parametrize("name", ["expert_return", "random_return"])
@pytest.mark.parametrize("value", [[1.0], "12", True, {"mean": 1}, 10**400])
def test_returns_of_the_wrong_kind_are_noticed_when_the_file_is_opened(tmp_path, name, value):
    path = save_members(tmp_path / "a.npz", metadata=json.dumps({name: value}))
    with pytest.raises(DemonstrationError, match=rf"{name} is .*finite number"):
        Demonstrations.load(path)
    states = np.zeros((1, 3, 2))
    with pytest.raises(ValueError, match=f"{name} is "):
        Demonstrations.from_arrays(states, terminal=False, metadata={name: value})


def test_a_shard_whose_rate_is_a_list_is_named(tmp_path):
    save_members(tmp_path / "a.npz", metadata=json.dumps({"states_every": [2]}))
    with pytest.raises(DemonstrationError, match=r"states_every is \[2\]"):
        Demonstrations.load(tmp_path)


@pytest.mark.parametrize("names", [["x", {}], "xy", ["x", "x"]])
def test_names_of_the_wrong_kind_are_said_with_the_name_of_the_file(tmp_path, names):
    path = save_members(tmp_path / "a.npz", metadata=json.dumps({"names": names}))
    with pytest.raises(DemonstrationError, match=r"a\.npz: names is .*, but must"):
        Demonstrations.load(path)


@pytest.mark.parametrize("name", ["returns", "metadata", "actions"])
def test_a_damaged_name_is_no_silent_loss(tmp_path, name):
    states = np.zeros((1, 3, 2))
    whole = Demonstrations.from_arrays(
        states, terminal=False, returns=[1.0], actions=np.zeros((1, 2)), metadata={"a": 1}
    )
    whole.save(tmp_path / "whole.npz")
    content = (tmp_path / "whole.npz").read_bytes()
    damaged = content.replace(name.encode(), name[:-1].encode() + b"~")
    (tmp_path / "damaged.npz").write_bytes(damaged)
    with pytest.raises(DemonstrationError, match=rf"damaged.npz .*{name[:-1]}~"):
        Demonstrations.load(tmp_path / "damaged.npz")
