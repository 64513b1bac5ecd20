import csv
import json
import re
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from ilfo.data.demonstrations import DemonstrationError, Demonstrations
from tests.data.test_demonstrations import assert_same, example


def columns(demos, *, terminal=True, actions=False):
    """One row per state, as someone else's recorder would write it."""
    trajectories = list(demos)
    table = {
        "episode": [f"run {i}" for i, t in enumerate(trajectories) for _ in t.states],
        "x": np.concatenate([t.states[:, 0] for t in trajectories]),
        "y": np.concatenate([t.states[:, 1] for t in trajectories]),
    }
    if terminal:
        table["terminal"] = [
            t.terminal and step == len(t.states) - 1
            for t in trajectories
            for step in range(len(t.states))
        ]
    if actions:
        padded = [np.append(t.actions[:, 0], np.nan) for t in trajectories]
        table["action_0"] = np.concatenate(padded)
    return table


def write_csv(path, table):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow(["" if v is None or v != v else v for v in row])  # NaN is not itself
    return path


def write_parquet(path, table):
    parquet.write_table(pa.table(table), path)
    return path


WRITERS = {".csv": write_csv, ".parquet": write_parquet}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    return lambda table: WRITERS[request.param](tmp_path / f"demos{request.param}", table)


def small(**changes):
    """Two episodes of two transitions, with some columns replaced, or dropped where None."""
    table = {
        "episode": [0, 0, 0, 1, 1, 1],
        "terminal": [False, False, True, False, False, False],
        "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    } | changes
    return {name: values for name, values in table.items() if values is not None}


def states(demos):
    return [t.states[:, 0].tolist() for t in demos]


def test_a_file_holds_the_same_as_the_arrays(write):
    demos = example(returns=None)
    path = write(columns(demos, actions=True))
    assert_same(demos, Demonstrations.load(path, actions=True))
    assert_same(demos, Demonstrations.load(path), actions=False)
    assert Demonstrations.load(path).returns is None
    named = Demonstrations.from_table(path, metadata={"env": "Toy-v0"})
    assert named.metadata == {"env": "Toy-v0"}


def test_columns_in_memory_hold_the_same_as_the_arrays():
    demos = example(returns=None)
    assert_same(demos, Demonstrations.from_table(columns(demos, actions=True), actions=True))


def test_every_other_column_is_a_dimension_in_the_order_of_the_table(write):
    path = write(small(z=[1, 2, 3, 4, 5, 6], a=[0.5] * 6))
    assert [t.states[0].tolist() for t in Demonstrations.load(path)] == [[0, 1, 0.5], [3, 4, 0.5]]
    chosen = Demonstrations.from_table(path, states=["a", "x"])
    assert [t.states[0].tolist() for t in chosen] == [[0.5, 0], [0.5, 3]]


def test_text_is_no_hindrance_where_the_dimensions_are_named(write):
    path = write(small(note=["a"] * 6))
    with pytest.raises(DemonstrationError, match=r"column 'note' holds 'a'.*states=\["):
        Demonstrations.load(path)
    assert states(Demonstrations.from_table(path, states=["x"])) == [[0, 1, 2], [3, 4, 5]]


def test_whole_numbers_as_actions_stay_whole_though_the_last_row_has_none(write):
    path = write(small(action=[1, 0, None, 1, 1, None]))
    demos = list(Demonstrations.load(path, actions=True))
    assert [t.actions.tolist() for t in demos] == [[1, 0], [1, 1]]
    assert [t.actions.dtype for t in demos] == [np.int64, np.int64]


def test_actions_that_are_not_asked_for_are_not_looked_at(write):
    path = write(small(action_0=["left"] * 6, Action_1=["?"] * 6))
    assert states(Demonstrations.load(path)) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(DemonstrationError, match="column 'action_0' holds 'left'"):
        Demonstrations.load(path, actions=True)
    with pytest.raises(DemonstrationError, match="no column that begins with 'action'"):
        Demonstrations.load(write(small()), actions=True)
    with pytest.raises(DemonstrationError, match=r"states=\['action_0'\]"):
        Demonstrations.from_table(path, states=["action_0"])


@pytest.mark.parametrize("rewards", [[1, 2, None, 4, 5, None], [None, 1, 2, None, 4, 5]])
def test_the_return_is_the_sum_of_rewards(write, rewards):
    assert Demonstrations.load(write(small(reward=rewards))).returns.tolist() == [3.0, 9.0]


def test_how_episodes_end_comes_from_the_column_or_is_said():
    assert [t.terminal for t in Demonstrations.from_table(small())] == [True, False]
    without = small(terminal=None)
    told = Demonstrations.from_table(without, terminal=[False, True])
    assert [t.terminal for t in told] == [False, True]
    with pytest.raises(ValueError, match=r"no column 'terminal'.*terminal=False"):
        Demonstrations.from_table(without)
    with pytest.raises(ValueError, match="terminal is given twice"):
        Demonstrations.from_table(small(), terminal=False)


def test_a_table_without_episodes_is_one(write):
    (whole,) = Demonstrations.load(write(small(episode=None, terminal=[0, 0, 0, 0, 0, 1])))
    assert (whole.states[:, 0].tolist(), whole.terminal) == ([0, 1, 2, 3, 4, 5], True)


def test_columns_under_other_names(write):
    table = small(episode=None, terminal=None)
    table |= {"run": ["01", "01", "01", "1", "1", "1"], "done": [0, 0, 1, 0, 0, 0]}
    named = Demonstrations.load(write(table), episode="run", terminal="done")
    assert states(named) == [[0, 1, 2], [3, 4, 5]]
    assert [t.terminal for t in named] == [True, False]
    assert named.names == ("x",)
    for wrong in ({"episode": "ran", "terminal": False}, {"episode": "run", "terminal": "over"}):
        with pytest.raises(DemonstrationError, match=r"no column '(ran|over)', only \['x'"):
            Demonstrations.load(write(table), **wrong)


def test_a_folder_of_tables_is_read_in_the_order_of_the_names(tmp_path):
    for name, first in (("b", 5.0), ("a", 1.0)):
        write_csv(tmp_path / f"{name}.csv", {"x": [first, first + 1]})
    assert states(Demonstrations.load(tmp_path, terminal=False)) == [[1, 2], [5, 6]]
    write_csv(tmp_path / "c.csv", {"y": [0, 1]})
    with pytest.raises(DemonstrationError, match="different dimensions of the state"):
        Demonstrations.load(tmp_path, terminal=False)
    (tmp_path / "d.npz").touch()
    with pytest.raises(DemonstrationError, match=r"one kind.*found: \.csv and \.npz"):
        Demonstrations.load(tmp_path, terminal=False)


def test_the_terminal_column_may_be_filled_in_the_last_rows_alone(write):
    for ending in ([None, None, True, None, None, False], [None, None, 1, None, None, 0]):
        path = write(small(terminal=ending))
        assert [t.terminal for t in Demonstrations.load(path)] == [True, False]


def test_a_step_column_is_no_dimension_but_finds_missing_rows(write):
    path = write(small(step=[0, 1, 2, 7, 8, 9]))
    assert Demonstrations.load(path).dim == 1
    for steps in ([0, 1, 2, 7, 9, 10], [0, 1, 2, 2, 1, 0]):
        with pytest.raises(DemonstrationError, match="trajectory 1: step goes from"):
            Demonstrations.load(write(small(step=steps)))


@pytest.mark.parametrize("name", ["time", "Timestamp"])
def test_times_are_no_dimension_and_must_rise(write, name):
    assert Demonstrations.load(write(small(**{name: [0, 0.1, 0.2, 0, 0.1, 0.2]}))).dim == 1
    back = write(small(**{name: [0, 0.1, 0.2, 0, 0.2, 0.1]}))
    with pytest.raises(
        DemonstrationError, match=f"trajectory 1: {name} goes from 0.2 to 0.1, expected it to rise"
    ):
        Demonstrations.load(back)
    assert Demonstrations.load(back, states=["x", name]).dim == 2  # unless it is said to be one


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"episode": None}, "trajectory 0: terminal is true at step 2, but the episode has 5"),
        ({"episode": None, "terminal": [0] * 6, "step": [0, 1, 2, 0, 1, 2]}, "step goes from 2"),
        (
            {"episode": ["a", "a", "b", "b", "a", "a"]},
            "trajectory 2: row 4 belongs to episode 'a', which already",
        ),
        ({"episode": ["a", "a", "a", None, "b", "b"]}, "row 3 has no episode"),
        ({"episode": [0, 0, 0, 1, 1, 2]}, "trajectory 2: .*two states"),
        ({"x": [0.0, 1.0, 2.0, 3.0, None, 5.0]}, "trajectory 1: column 'x' is empty.* step 1"),
        ({"x": [0.0, 1.0, 2.0, 3.0, 4.0, np.nan]}, "trajectory 1: column 'x' .* step 2"),
        ({"x": [0.0, 1.0, 2.0, 3.0, np.inf, 5.0]}, "trajectory 1: .*step 1, dimension 0 is inf"),
        ({"x": None}, "is a dimension of the state"),
        ({"x": ["1.0", "x", "1", "1", "1", "1"]}, "column 'x' holds '1.0'"),
        ({"terminal": [False, True, True, False, False, False]}, "trajectory 0: .* at step 1"),
        ({"terminal": [0, 0, 2, 0, 0, 0]}, "true and false, or 1 and 0"),
        ({"terminal": ["no"] * 6}, "true and false, or 1 and 0"),
        ({"terminal": [None, None, True, None, None, None]}, "trajectory 1: terminal is empty"),
        ({"reward": [1.0, None, 1.0, 1.0, 1.0, 1.0]}, "trajectory 0: column 'reward' has 1 empty"),
        ({"reward": ["a"] * 6}, "column 'reward' holds 'a'"),
        ({"reward": [1.0, 1.0, np.inf, 0.0, 0.0, 0.0]}, "trajectory 0: its return is inf"),
        ({"action": [0, None, 0, 0, 0, 0]}, "trajectory 0: column 'action' is empty.* step 1"),
        ({"action": None, "": [0, 1, 2, 3, 4, 5]}, "column 3 has no name"),
    ],
)
def test_tables_that_would_mislead_are_refused(write, changes, complaint):
    path = write(small(**{"action": [0] * 6} | changes))
    with pytest.raises(DemonstrationError, match=rf"(?s)demos\.(csv|parquet): .*{complaint}"):
        Demonstrations.load(path, actions=changes.get("action", True) is not None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no columns"),
        ("episode,terminal,x\n", "no rows"),
        ("episode,terminal,x\n0,0,1\n0,0\n", "line 3 has 2 fields, but the header has 3"),
        ("episode,terminal,x\n0,0,1\n0,0,1,2\n", "line 3 has 4 fields"),
        ("episode,terminal,x,x\n0,0,1,1\n", r"columns \['x'\] appear more than once"),
        ("episode;terminal;x\n0;0;1\n", r"only \['episode;terminal;x'\]"),
        ('episode,terminal,x\n0,0,"1\n', "unexpected end of data"),
    ],
)
def test_malformed_text_is_refused(tmp_path, text, complaint):
    path = tmp_path / "demos.csv"
    path.write_text(text)
    with pytest.raises(DemonstrationError, match=rf"demos\.csv: .*{complaint}"):
        Demonstrations.load(path)


def test_csv_takes_what_spreadsheets_write(tmp_path):
    path = tmp_path / "demos.CSV"
    text = "\ufeffepisode, terminal, x\r\n1, TRUE, 1e-3\r\n01, FALSE, 2\r\n01, FALSE, 3\r\n\r\n"
    path.write_bytes(text.replace("1, TRUE", "1, FALSE, 5\r\n1, TRUE", 1).encode())
    demos = list(Demonstrations.load(path))  # 1 and 01 are two episodes
    assert states(demos) == [[5, np.float32(1e-3)], [2, 3]]
    assert [t.terminal for t in demos] == [True, False]


def test_parquet_reads_names_as_categories_and_refuses_other_types(tmp_path):
    table = small(episode=pa.array(["a"] * 3 + ["b"] * 3).dictionary_encode())
    path = write_parquet(tmp_path / "demos.parquet", table)
    assert len(Demonstrations.load(path)) == 2
    write_parquet(path, small(x=[[1.0]] * 6))
    with pytest.raises(DemonstrationError, match=r"column 'x' is of type list.*expected numbers"):
        Demonstrations.load(path)
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(DemonstrationError, match=r"demos\.parquet: "):
        Demonstrations.load(path)


@pytest.mark.parametrize(
    ("name", "value"), [("names", ["x", {}]), ("states_every", [2]), ("expert_return", "high")]
)
def test_metadata_of_the_wrong_kind_is_said_with_the_name_of_the_file(tmp_path, name, value):
    stored = {"ilfo_metadata": json.dumps({name: value})}
    path = tmp_path / "demos.parquet"
    parquet.write_table(pa.table(small()).replace_schema_metadata(stored), path)
    with pytest.raises(DemonstrationError, match=rf"demos\.parquet: {name} is .*, but must"):
        Demonstrations.load(path)


def test_a_truncated_parquet_file_is_refused(tmp_path):
    path = write_parquet(tmp_path / "demos.parquet", small())
    content = path.read_bytes()
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(DemonstrationError, match=r"demos\.parquet: "):
            Demonstrations.load(path)


def test_without_pyarrow_the_message_names_the_extra(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "demos.parquet", small())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'ilfo\[parquet\]'"):
        Demonstrations.load(path)


def test_other_files_and_missing_ones(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no demonstrations at .*nowhere\.csv"):
        Demonstrations.load(tmp_path / "nowhere.csv")
    with pytest.raises(DemonstrationError, match=r"ends in '\.xlsx', expected one of \.csv"):
        Demonstrations.from_table(tmp_path / "demos.xlsx")


entries = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=2),
    st.lists(st.floats(), max_size=2),
)
names = st.sampled_from(["episode", "terminal", "step", "reward", "action", "x", "y", ""])
plausible = st.one_of(
    st.lists(st.integers(0, 1), min_size=4, max_size=4),
    st.lists(st.floats(allow_nan=False, width=32), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.just([0, 0, 1, 1]),
)
tables = st.dictionaries(names, st.one_of(plausible, st.lists(entries, max_size=4)))


@settings(max_examples=300, deadline=None)
@given(table=tables, actions=st.booleans())
def test_any_columns_are_kept_or_refused_with_a_reason(table, actions):
    try:
        demos = Demonstrations.from_table(table, actions=actions)
    except ValueError as error:
        named = re.search(r"column|row|trajectory \d: |trajectories", str(error))
        assert named
        return
    assert {demos.states_count} == {len(table[name]) for name in demos.names}


@settings(max_examples=300, deadline=None)
@given(
    header=st.sampled_from(["episode,terminal,x", "episode,x,action,terminal", "episode"]),
    rows=st.one_of(
        st.text("01,.\n\r\"'e;- ain", max_size=60),
        st.lists(st.sampled_from(["0,0,1", "0,1,1", "1,0,0,0", "1,0,nan"])).map("\n".join),
    ),
)
def test_any_text_is_kept_or_refused_with_a_reason(tmp_path_factory, header, rows):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(f"{header}\n{rows}", newline="")
    try:
        demos = Demonstrations.load(path)
    except DemonstrationError as error:
        told = str(error)
        assert told.startswith(f"{path}: ")
        return
    assert demos.count() >= 1


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=2),
    suffix=st.sampled_from(list(WRITERS)),
)
def test_every_finite_state_survives_a_file(tmp_path_factory, values, suffix):
    values = np.array(values, np.float32)
    table = {"episode": [0] * len(values), "x": values}
    path = WRITERS[suffix](tmp_path_factory.getbasetemp() / f"values{suffix}", table)
    (kept,) = Demonstrations.from_table(path, terminal=False)
    assert np.array_equal(kept.states[:, 0], values)


@pytest.mark.parametrize("name", ["Reward", "rewards", "done", "truncated", "acts", "t", "Episode"])
def test_columns_that_look_like_something_else_are_not_taken_for_states(name):
    table = {"episode": [0, 0], "x": [0.0, 1.0], name: [0.0, 1.0]}
    with pytest.raises(ValueError, match=f"column {name!r} does not look like a dimension"):
        Demonstrations.from_table(table, terminal=False)
    for states, dim in ((["x"], 1), (["x", name], 2)):
        assert Demonstrations.from_table(table, states=states, terminal=False).dim == dim


def test_too_little_memory_is_said_with_the_name_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("episode,terminal,x\n0,false,1\n0,true,2\n")

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr("ilfo.data.columns._parsed", no_memory)
    with pytest.raises(DemonstrationError, match=r"table\.csv: there is not enough memory"):
        Demonstrations.load(path)


def test_too_little_memory_is_said_of_parquet_too(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "table.parquet", small())

    def no_memory(*_, **__):
        raise pa.lib.ArrowMemoryError

    monkeypatch.setattr(parquet, "ParquetFile", no_memory)
    with pytest.raises(DemonstrationError, match=r"table\.parquet: there is not enough memory"):
        Demonstrations.load(path)


def test_names_of_several_row_groups_with_missing_ones(tmp_path):
    table = pa.table(small(episode=["a", "a", "b", "b", None, ""], terminal=None))
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        changed = table.set_column(0, "episode", table["episode"].cast(kind))
        parquet.write_table(changed, tmp_path / "demos.parquet", row_group_size=4)
        with pytest.raises(DemonstrationError, match="row 4 has no episode"):
            Demonstrations.load(tmp_path / "demos.parquet", terminal=False)
        parquet.write_table(changed.slice(0, 4), tmp_path / "demos.parquet", row_group_size=3)
        loaded = Demonstrations.load(tmp_path / "demos.parquet", terminal=False)
        assert states(loaded) == [[0, 1], [2, 3]]


def test_many_columns_take_no_longer_than_their_number(tmp_path):
    names = [f"x{number}" for number in range(20_000)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *[",".join("0" * len(names))] * 2]) + "\n")
    began = time.process_time()
    demonstrations = Demonstrations.load(path, states=names, terminal=False)
    assert time.process_time() - began < 5  # it was 14 seconds and more
    assert next(iter(demonstrations)).states.shape == (2, 20_000)
