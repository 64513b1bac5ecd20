import json
import sys
from dataclasses import dataclass
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilfo.data.demonstrations import DemonstrationError, Demonstrations
from tests.data.test_demonstrations import GOOD, assert_same, example


@dataclass
class Recorded:
    """As imitation's TrajectoryWithRew."""

    obs: Any
    acts: Any
    terminal: Any
    rews: Any = None
    infos: Any = None


def recorded(demos):
    return [
        Recorded(t.states, t.actions, t.terminal, np.append(np.zeros(len(t.actions) - 1), total))
        for t, total in zip(demos, demos.returns, strict=True)
    ]


def save(folder, objects, *, files=1, **changes):
    """The layout of `datasets`: columns changed, or dropped where None."""
    folder.mkdir(exist_ok=True)
    names = [f"data-{i:05}-of-{files:05}.arrow" for i in range(files)]
    for part, name in enumerate(names):
        rows = objects[part::files] if files > 1 else objects
        held = {
            "obs": [np.asarray(row.obs).tolist() for row in rows],
            "acts": [np.asarray(row.acts).tolist() for row in rows],
            # What jsonpickle would turn into a call on decoding.
            "infos": [['{"py/reduce": [{"py/function": "os.abort"}, {"py/tuple": []}]}']]
            * len(rows),
            "terminal": [row.terminal for row in rows],
            "rews": [np.asarray(row.rews).tolist() for row in rows],
        } | changes
        table = pa.table({key: values for key, values in held.items() if values is not None})
        with pa.ipc.new_stream(str(folder / name), table.schema) as writer:
            writer.write_table(table)
    listed = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0"}
    (folder / "state.json").write_text(json.dumps(listed))
    return folder


def test_objects_hold_the_same_as_the_arrays():
    demos = example()
    taken = Demonstrations.from_trajectories(recorded(demos), actions=True, metadata={"a": 1})
    assert_same(demos, taken)
    assert taken.returns.tolist() == demos.returns.tolist()
    assert taken.metadata == {"a": 1}


def test_actions_that_are_not_asked_for_are_not_looked_at():
    objects = [Recorded(GOOD, "anything", False)]
    taken = Demonstrations.from_trajectories(iter(objects))
    assert [(t.terminal, t.actions) for t in taken] == [(False, None)]
    assert taken.returns is None


def test_returns_need_rewards_of_all():
    objects = recorded(example())
    objects[1].rews = None
    assert Demonstrations.from_trajectories(objects).returns is None


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (GOOD, "is a ndarray without obs, terminal"),
        (Recorded(GOOD, None, False), "is a Recorded without acts"),
        (Recorded(GOOD, np.zeros(3), False), "has 3 actions, expected 2"),
        (Recorded(GOOD, np.zeros(2), 1), "terminal is 1"),
        (Recorded(GOOD, np.zeros(2), True, np.zeros(3)), r"rews has .*shape \(3,\)"),
        (Recorded(GOOD, np.zeros(2), True, ["a", "b"]), "rews has dtype <U1"),
        (Recorded({"a": GOOD}, [], True), r"states have shape \(\)"),
        (Recorded(3.0, [], True), r"states have shape \(\)"),
    ],
)
def test_malformed_objects_are_refused_by_index(bad, complaint):
    good = Recorded(GOOD, np.zeros(2), False, np.zeros(2))
    with pytest.raises(ValueError, match=f"^trajectory 1: .*{complaint}"):
        Demonstrations.from_trajectories([good, bad], actions=True)


@pytest.mark.parametrize("files", [1, 3])
def test_a_saved_folder_holds_the_same(tmp_path, files):
    demos = example()
    folder = save(tmp_path / "saved", recorded(demos), files=files)
    loaded = Demonstrations.load(folder, actions=True)
    assert_same(demos, loaded)
    assert loaded.returns.tolist() == demos.returns.tolist()
    assert_same(demos, Demonstrations.load(folder), actions=False)


def test_files_that_are_not_listed_are_not_read(tmp_path):
    folder = save(tmp_path / "saved", recorded(example()))
    (folder / "cache-0.arrow").write_bytes(b"left by a program")
    assert len(Demonstrations.load(folder)) == 3


def test_the_types_of_actions_survive(tmp_path):
    actions = pa.array([[1, 0, 1], [0], [1] * 5], pa.list_(pa.int32()))
    folder = save(tmp_path / "saved", recorded(example()), acts=actions)
    first = next(iter(Demonstrations.load(folder, actions=True)))
    assert (first.actions.tolist(), first.actions.dtype) == ([1, 0, 1], np.int32)


def test_infos_and_unwanted_actions_are_not_decoded(tmp_path):
    folder = save(tmp_path / "saved", recorded(example()), infos=None, acts=None, rews=None)
    demos = Demonstrations.load(folder)
    assert_same(example(), demos, actions=False)
    assert demos.returns is None
    with pytest.raises(DemonstrationError, match=r"has the columns \['obs', 'terminal'\]"):
        Demonstrations.load(folder, actions=True)
    # Text that is not even UTF-8 passes unseen.
    torn = pa.StringArray.from_buffers(
        3, pa.py_buffer(np.arange(4, dtype=np.int32)), pa.py_buffer(b"\xff\xfe\xfd")
    )
    assert len(Demonstrations.load(save(tmp_path / "torn", recorded(example()), infos=torn))) == 3


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"obs": None}, "has the columns"),
        ({"terminal": None}, "has the columns"),
        ({"obs": [[[1.0, 2.0], [1.0]]] * 3}, "lists have different lengths"),
        ({"obs": [[[1.0], [2.0]], [[1.0], [None]], [[1.0], [2.0]]]}, "trajectory 1: .*is nan"),
        (
            {"obs": [[[1.0], [2.0]], [[1.0, 2.0]] * 2, [[1.0], [2.0]]]},
            "trajectory 1: .*dimension 2",
        ),
        ({"obs": [[["a"], ["b"]]] * 3}, "'obs' of type list.*string.*expected numbers"),
        ({"obs": [1.0] * 3}, r"trajectory 0: states have shape \(\)"),
        ({"obs": [None] * 3}, "trajectory 0: is a SavedRow without obs"),
        ({"obs": [[]] * 3}, "trajectory 0: states have shape"),
        ({"terminal": [0, 1, 0]}, "trajectory 0: terminal is 0"),
        ({"terminal": [True, None, True]}, "trajectory 1: .*without terminal"),
    ],
)
def test_malformed_folders_are_refused(tmp_path, changes, complaint):
    changes = {"rews": None} | changes
    folder = save(tmp_path / "saved", recorded(example()), **changes)
    with pytest.raises(DemonstrationError, match=f"(?s)saved: .*{complaint}"):
        Demonstrations.load(folder)


SHARED = pa.array([[[0.0, 0.0]] * 4], pa.list_(pa.list_(pa.float32())))
"""One trajectory, which rows may share."""
PLACES = pa.array([0] * 3, pa.int32())
SHARING = {
    "dictionary": pa.DictionaryArray.from_arrays(PLACES, SHARED),
    "view": pa.ListViewArray.from_arrays(PLACES, pa.array([4] * 3, pa.int32()), SHARED.flatten()),
    "inner view": pa.FixedSizeListArray.from_arrays(
        pa.ListViewArray.from_arrays(PLACES, pa.array([8] * 3, pa.int32()), pa.array([0.0] * 8)), 1
    ),
    "run": pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), SHARED),
    "union": pa.UnionArray.from_dense(pa.array([0] * 3, pa.int8()), PLACES, [SHARED]),
    "text": pa.array(["a" * 9] * 3, pa.string_view()),
}


@pytest.mark.parametrize("kind", SHARING)
def test_rows_that_may_share_their_entries_are_refused(tmp_path, kind):
    """Far more would be unpacked than the buffers say."""
    folder = save(tmp_path / "saved", recorded(example()), obs=SHARING[kind], rews=None)
    with pytest.raises(DemonstrationError, match=r"saved: .*arrow has a column 'obs' of type .*"):
        Demonstrations.load(folder, large=True)
    assert len(Demonstrations.load(save(folder, recorded(example()), infos=SHARING[kind]))) == 3


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_too_little_memory_is_said_with_the_name(tmp_path, monkeypatch, suffix):
    import pyarrow.parquet

    place = save(tmp_path / "saved", recorded(example()))
    if suffix == "parquet":
        place = tmp_path / "saved.parquet"
        obs = [np.asarray(row.obs).tolist() for row in recorded(example())]
        pyarrow.parquet.write_table(pa.table({"obs": obs, "terminal": [True] * 3}), place)

    def no_memory(*_, **__):
        raise pa.lib.ArrowMemoryError

    for module, name in ((pa.ipc, "open_stream"), (pa.parquet, "read_table")):
        monkeypatch.setattr(module, name, no_memory)
    with pytest.raises(DemonstrationError, match=r"saved.*: there is not enough memory to read it"):
        Demonstrations.load(place)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "does not list the files"),
        ("[]", "does not list the files"),
        ('{"_data_files": [{"filename": "../a.arrow"}]}', "expected a file in the same folder"),
        ('{"_data_files": [{"filename": "gone.arrow"}]}', "lists 'gone.arrow'"),
        ('{"_data_files": [], "_indices_data_files": [1]}', "selection of rows"),
        ('{"_data_files": []}', "no trajectories"),
        ('{"_data_files": [{"filename": "a"}, {"filename": "a"}]}', "lists a file twice"),
    ],
)
def test_a_malformed_list_of_files_is_refused(tmp_path, text, complaint):
    (tmp_path / "state.json").write_text(text)
    (tmp_path / "a").touch()
    with pytest.raises(DemonstrationError, match=complaint):
        Demonstrations.load(tmp_path)


def test_a_truncated_file_is_refused(tmp_path):
    folder = save(tmp_path / "saved", recorded(example()))
    (file,) = folder.glob("*.arrow")
    content = file.read_bytes()
    for length in (*range(0, len(content), 41), len(content) - 8):
        file.write_bytes(content[:length])
        with pytest.raises(DemonstrationError, match=r"\.arrow is incomplete"):
            Demonstrations.load(folder)
        file.write_bytes(content[:length] + content[-8:])
        if length < len(content) - 8:
            with pytest.raises(DemonstrationError, match=r"be read as Arrow|no trajectories"):
                Demonstrations.load(folder)


def test_pickles_are_refused_with_the_way_to_convert_them(tmp_path):
    path = tmp_path / "old.pkl"
    path.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(DemonstrationError, match=r"old\.pkl is a pickle.*serialize\.save"):
        Demonstrations.load(path)
    infos = np.array([{}, {}], dtype=object)
    np.savez(tmp_path / "old.npz", obs=GOOD, acts=[0, 0], infos=infos, indices=[], terminal=[True])
    with pytest.raises(
        DemonstrationError, match=r"old\.npz.*old version of imitation.*serialize\.save"
    ):
        Demonstrations.load(tmp_path / "old.npz")


def test_without_pyarrow_the_message_names_the_extra(tmp_path, monkeypatch):
    folder = save(tmp_path / "saved", recorded(example()))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'ilfo\[parquet\]'"):
        Demonstrations.load(folder)


shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
arrays = hnp.arrays(st.one_of(hnp.scalar_dtypes(), st.just(np.dtype("U2"))), shapes)
plausible = hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.just(2)))
anything = st.one_of(st.none(), st.booleans(), st.text(max_size=2), arrays, plausible)
objects = st.builds(
    Recorded, obs=st.one_of(plausible, anything), acts=anything, terminal=anything, rews=anything
)


@settings(max_examples=300, deadline=None)
@given(given_=st.lists(objects, max_size=3), actions=st.booleans())
def test_any_objects_are_kept_or_refused_with_a_reason(given_, actions):
    try:
        demos = Demonstrations.from_trajectories(given_, actions=actions)
    except ValueError as error:
        told = str(error)
        assert told.startswith("trajectory ") or "no trajectories" in told
        return
    assert len(demos) == len(given_)


def test_a_parquet_file_of_the_same_layout(tmp_path):
    import pyarrow.parquet

    demos = example()
    rows = recorded(demos)
    held = {
        "obs": [np.asarray(row.obs).tolist() for row in rows],
        "acts": [np.asarray(row.acts).tolist() for row in rows],
        "infos": [["never read"]] * len(rows),
        "terminal": [row.terminal for row in rows],
        "rews": [np.asarray(row.rews).tolist() for row in rows],
    }
    pyarrow.parquet.write_table(pa.table(held), tmp_path / "saved.parquet")
    loaded = Demonstrations.load(tmp_path / "saved.parquet", actions=True)
    for mine, theirs in zip(demos, loaded, strict=True):
        np.testing.assert_array_equal(mine.states, theirs.states)
        np.testing.assert_array_equal(mine.actions, theirs.actions)
        assert mine.terminal == theirs.terminal
    np.testing.assert_allclose(loaded.returns, demos.returns)


def test_a_folder_of_splits(tmp_path):
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')
    save(folder / "train", recorded(example()))
    assert Demonstrations.load(folder).count() == example().count()
    save(folder / "test", recorded(example()))
    with pytest.raises(DemonstrationError, match="holds the splits test, train; choose one"):
        Demonstrations.load(folder)


def test_rows_that_are_dicts(tmp_path):
    rows = [{"obs": row.obs, "terminal": row.terminal} for row in recorded(example())]
    loaded = Demonstrations.from_trajectories(rows)
    assert [t.states.tobytes() for t in loaded] == [t.states.tobytes() for t in example()]
