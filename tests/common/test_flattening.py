import gymnasium as gym
import numpy as np
import pytest

from ilfo.common.flattening import flat_rows, is_composite, names, parts

BOX = gym.spaces.Box(-1, 1, (2,), np.float32)
NESTED = gym.spaces.Dict(
    {
        "robot": gym.spaces.Dict({"arm": BOX, "grip": gym.spaces.Box(0, 1, (), np.float32)}),
        "mode": gym.spaces.Discrete(2),
        "pair": gym.spaces.Tuple([gym.spaces.MultiBinary(2), gym.spaces.Box(0, 9, (1,))]),
    }
)


def test_names_follow_the_order_in_which_gymnasium_flattens():
    assert names(NESTED) == (
        *("mode.0", "mode.1", "pair.item_0.0", "pair.item_0.1", "pair.item_1"),
        *("robot.arm.0", "robot.arm.1", "robot.grip"),
    )
    found = parts(NESTED)
    assert found["pair"] == [2, 3, 4]
    assert found["robot"] == [5, 6, 7]
    assert found["robot.grip"] == [7]
    # each number where its name says
    seen = {
        "robot": {"arm": np.array([0.5, 0.6], np.float32), "grip": np.array(0.7, np.float32)},
        "mode": 1,
        "pair": (np.array([1, 0], np.int8), np.array([8.0], np.float32)),
    }
    flat = gym.spaces.flatten(NESTED, seen)
    assert flat.tolist() == pytest.approx([0, 1, 1, 0, 8, 0.5, 0.6, 0.7])
    assert gym.spaces.flatdim(NESTED) == len(names(NESTED))


def test_rows_are_flattened_together():
    NESTED.seed(0)
    seen = [NESTED.sample() for _ in range(5)]
    stacked = {
        "robot": {
            name: np.stack([each["robot"][name] for each in seen]) for name in ("arm", "grip")
        },
        "mode": np.array([each["mode"] for each in seen]),
        "pair": {f"item_{i}": np.stack([each["pair"][i] for each in seen]) for i in range(2)},
    }
    expected = [gym.spaces.flatten(NESTED, each) for each in seen]
    np.testing.assert_allclose(flat_rows(NESTED, stacked), expected)


def test_what_has_no_fixed_length_is_not_flattened():
    assert is_composite(NESTED)
    assert not is_composite(BOX)
    assert not is_composite(gym.spaces.Dict({"a": gym.spaces.Sequence(BOX)}))


def test_names_that_would_be_the_same_are_none():
    twice = gym.spaces.Dict({"a": BOX, "a.0": gym.spaces.Box(0, 1, (1,))})
    assert names(twice) is None
