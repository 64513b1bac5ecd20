import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.describe import describe

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


def test_the_experts_return_can_be_said_where_nothing_says_it():
    silent = example(returns=None)
    assert silent.with_expert_return(-3).expert_return == -3.0
    assert silent.with_expert_return(-3).states_only().expert_return == -3.0
    assert example().with_expert_return(3.0).expert_return == 3.0
    with pytest.raises(ValueError, match="say themselves that the expert's mean return is 3, not"):
        example().with_expert_return(4.0)
    with pytest.raises(ValueError, match="expert_return is nan, but must be a finite number"):
        silent.with_expert_return(float("nan"))


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
        ({"metadata": {"array": GOOD}}, "metadata must be a dict that JSON can store"),
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
    assert "endings       2 terminal, 1 truncated" in lines
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


def test_describe_cuts_long_metadata_short():
    demos = example(metadata={"training": [0.5] * 1000, "task": "hopper"})
    lines = describe(demos).splitlines()
    assert "task          hopper" in lines
    assert max(map(len, lines)) < 250
    assert any(line.startswith("training") and "more characters" in line for line in lines)


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


def test_metadata_cannot_steer_the_terminal_that_shows_them():
    demos = example(metadata={"note": "\x1b]0;owned\x07", "\x1b[2J": "a\nstates 9"})
    text = describe(demos)
    assert "\x1b" not in text
    assert r"\x1b]0;owned\x07" in text
    assert r"a\nstates 9" in text
