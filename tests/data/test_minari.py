import json
import sys
from types import SimpleNamespace

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minari.data_collector import EpisodeBuffer

from ilfo.data.demonstrations import DemonstrationError, Demonstrations
from ilfo.data.minari import _check_spaces
from tests.data.test_demonstrations import assert_same, example

# Minari asks for an author and the like; these datasets are for nobody else.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari")

INFINITE = '{"type": "Box", "dtype": "int64", "shape": [1], "low": [0], "high": [Infinity]}'
ID = "toy/walk-v0"
BOX = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def file_of(folder):
    return folder / ID / "data" / "main_data.hdf5"


def episode(steps=3, **changes):
    last = np.arange(steps) == steps - 1
    parts = {
        "observations": np.arange(2.0 * steps + 2, dtype=np.float32).reshape(steps + 1, 2),
        "actions": np.ones((steps, 1), np.float32),
        "rewards": np.ones(steps),
        "terminations": last,
        "truncations": np.zeros(steps, bool),
    } | changes
    return EpisodeBuffer(**parts)


def create(*episodes, observations=BOX):
    return minari.create_dataset_from_buffers(
        ID,
        list(episodes),
        observation_space=observations,
        action_space=gym.spaces.Box(-1, 1, (1,), np.float32),
    )


def test_round_trip():
    demos = example()
    demos.to_minari(ID)
    loaded = Demonstrations.from_minari(ID, actions=True)
    assert_same(demos, loaded)
    assert [t.actions.dtype for t in loaded] == [np.float64] * 3
    assert loaded.returns.tolist() == demos.returns.tolist()
    assert loaded.metadata == demos.metadata
    assert_same(demos, Demonstrations.from_minari(ID), actions=False)


def test_round_trip_without_actions_and_returns():
    states = [t.states for t in example()]
    demos = Demonstrations.from_arrays(states, terminal=[True, False, True])
    demos.to_minari(ID)
    loaded = Demonstrations.from_minari(minari.load_dataset(ID))
    assert_same(demos, loaded, actions=False)
    assert loaded.returns is None
    with pytest.raises(DemonstrationError, match=rf"{ID}: its actions are .*expected arrays"):
        Demonstrations.from_minari(ID, actions=True)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_every_finite_state_and_return_survives(tmp_path_factory, data):
    floats = st.floats(allow_nan=False, allow_infinity=False, width=32)
    rows = st.lists(st.tuples(floats, floats), min_size=2, max_size=4)
    states = [np.array(values, np.float32) for values in data.draw(st.lists(rows, min_size=1))]
    count = len(states)
    flags = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    returns = data.draw(st.lists(finite, min_size=count, max_size=count))
    demos = Demonstrations.from_arrays(states, terminal=flags, returns=returns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("any")))
        demos.to_minari(ID)
        loaded = Demonstrations.from_minari(ID)
    assert_same(demos, loaded, actions=False)
    assert loaded.returns.tolist() == returns


def test_discrete_actions_and_the_environment_are_kept():
    states = np.zeros((1, 3, 4))
    demos = Demonstrations.from_arrays(states, terminal=True, actions=[np.array([0, 1])])
    demos.to_minari(ID, env="CartPole-v1", author="someone")
    dataset = minari.load_dataset(ID)
    assert dataset.action_space == gym.spaces.Discrete(2)
    assert dataset.env_spec.id == "CartPole-v1"
    (loaded,) = Demonstrations.from_minari(dataset, actions=True)
    assert loaded.actions.tolist() == [0, 1]
    demos.to_minari("toy/other-v0")
    (loaded,) = Demonstrations.from_minari("toy/other-v0", actions=True)
    assert (loaded.actions.tolist(), loaded.actions.dtype) == ([0, 1], np.int64)


def test_a_dataset_of_others():
    cut_off = episode(2, terminations=np.zeros(2, bool), truncations=np.array([False, True]))
    dataset = create(episode(), cut_off, episode(4))
    demos = Demonstrations.from_minari(dataset, actions=True)
    assert demos.lengths.tolist() == [3, 2, 4]
    assert [t.terminal for t in demos] == [True, False, True]
    assert demos.returns.tolist() == [3.0, 2.0, 4.0]
    assert demos.metadata == {"minari": ID}
    assert next(iter(demos)).states.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    long = dataset.filter_episodes(lambda episode: len(episode.rewards) > 2)
    assert Demonstrations.from_minari(long).lengths.tolist() == [3, 4]
    assert Demonstrations.from_minari(long, metadata={}).metadata == {}


def test_actions_that_are_not_asked_for_are_not_read(folder):
    example().to_minari(ID)
    with h5py.File(file_of(folder), "a") as file:
        for group in file.values():
            del group["actions"]
    assert_same(example(), Demonstrations.from_minari(ID), actions=False)
    with pytest.raises(DemonstrationError, match=rf"{ID}: .*main_data\.hdf5 cannot be read"):
        Demonstrations.from_minari(ID, actions=True)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"terminations": np.array([False, True, False])}, "terminates at step 2 of 3"),
        ({"observations": np.zeros((3, 2), np.float32)}, "has 3 observations, 3 rewards"),
        ({"observations": np.full((4, 2), np.nan, np.float32)}, "step 0, dimension 0 is nan"),
        ({"observations": np.zeros((4, 3), np.float32)}, "dimension 3, but those before it 2"),
        ({"rewards": np.array([1.0, np.nan, 1.0])}, "its return is nan"),
    ],
)
def test_misleading_episodes_are_refused_by_index(changes, complaint):
    dataset = create(episode(), episode(**changes))
    with pytest.raises(DemonstrationError, match=f"{ID}: trajectory 1: .*{complaint}"):
        Demonstrations.from_minari(dataset)


COLOUR = gym.spaces.Discrete(3)
COMPOSITE = {
    "dict": (
        gym.spaces.Dict({"goal": BOX, "colour": COLOUR}),
        {"goal": np.arange(8, dtype=np.float32).reshape(4, 2), "colour": np.array([2, 0, 1, 2])},
        ["colour.0", "colour.1", "colour.2", "goal.0", "goal.1"],
    ),
    "tuple": (
        gym.spaces.Tuple([BOX, gym.spaces.Dict({"x": gym.spaces.Box(-9, 9, (1,))})]),
        (np.ones((4, 2), np.float32), {"x": np.arange(4, dtype=np.float32)[:, None]}),
        ["item_0.0", "item_0.1", "item_1.x"],
    ),
}


def at(step, observations):
    """The observation of one step, from those of all steps."""
    if isinstance(observations, dict):
        return {name: at(step, part) for name, part in observations.items()}
    if isinstance(observations, tuple):
        return tuple(at(step, part) for part in observations)
    return observations[step]


@pytest.mark.parametrize("kind", COMPOSITE)
def test_dicts_and_tuples_are_flattened_as_gymnasium_does(kind):
    space, observations, names = COMPOSITE[kind]
    create(episode(observations=observations), observations=space)
    demos = Demonstrations.load(f"minari:{ID}")
    (loaded,) = demos
    expected = [gym.spaces.flatten(space, at(step, observations)) for step in range(4)]
    np.testing.assert_array_equal(loaded.states, expected)
    assert list(demos.names) == names


def test_observations_that_are_no_vectors_are_refused():
    texts = gym.spaces.Dict({"a": BOX, "said": gym.spaces.Sequence(BOX)})
    dataset = create(episode())
    storage = SimpleNamespace(
        FORMAT="hdf5", observation_space=texts, action_space=dataset.action_space
    )
    with pytest.raises(ValueError, match=r"its observations are Dict.*from_arrays"):
        _check_spaces(storage, actions=False)


def test_a_damaged_file_is_refused(folder):
    example().to_minari(ID)
    content = file_of(folder).read_bytes()
    for length in (0, 100, len(content) // 2):
        file_of(folder).write_bytes(content[:length])
        with pytest.raises(DemonstrationError, match=f"{ID}: .*cannot be read"):
            Demonstrations.from_minari(ID)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda held: held.pop("action_space"), "its metadata has no action_space"),
        (lambda held: held.update(observation_space="{}"), ""),
        (lambda held: held.update(observation_space="[" * 5_000), "recursion"),
        (lambda held: held.update(observation_space=INFINITE), "infinity"),
        (lambda held: held.update(minari_version="7"), "does not support"),
        (lambda held: held.update(dataset_id="toy/walk"), "int"),
        (lambda held: held.clear(), "no action_space, observation_space"),
    ],
)
def test_damaged_metadata_is_refused(folder, change, complaint):
    example().to_minari(ID)
    file = folder / ID / "data" / "metadata.json"
    held = json.loads(file.read_text())
    change(held)
    file.write_text(json.dumps(held))
    with pytest.raises(DemonstrationError, match=f"{ID} cannot be opened: .*{complaint}"):
        Demonstrations.from_minari(ID)


def test_statements_of_the_wrong_kind_are_said_with_the_name_of_the_dataset(folder):
    example().to_minari(ID)
    file = folder / ID / "data" / "metadata.json"
    changed = json.loads(file.read_text()) | {"ilfo_metadata": '{"names": ["x", {}]}'}
    file.write_text(json.dumps(changed))
    with pytest.raises(DemonstrationError, match=f"{ID}: names is .*, but must"):
        Demonstrations.from_minari(ID)


def test_what_is_no_dataset_is_refused():
    with pytest.raises(ValueError, match="dataset is a int, expected a MinariDataset or its id"):
        Demonstrations.from_minari(3)


def test_ids_that_are_malformed_taken_or_unknown(folder):
    for bad in ("no version", "walk", "../walk-v0"):
        with pytest.raises(ValueError, match=r"dataset_id is .*namespace/name-v0"):
            example().to_minari(bad)
    assert list(folder.iterdir()) == []
    example().to_minari(ID)
    with pytest.raises(ValueError, match="already exists"):
        example().to_minari(ID)
    with pytest.raises(FileNotFoundError, match="minari download toy/nowhere-v0"):
        Demonstrations.from_minari("toy/nowhere-v0")


def test_actions_of_an_unknown_kind_need_a_space():
    words = [np.array(["left", "up"])]
    demos = Demonstrations.from_arrays(np.zeros((1, 3, 2)), terminal=True, actions=words)
    with pytest.raises(ValueError, match=r"actions have dtype <U4.*action_space"):
        demos.to_minari(ID)


def test_without_minari_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ImportError, match=r"pip install 'ilfo\[minari\]'"):
        Demonstrations.from_minari(ID)
    with pytest.raises(ImportError, match=r"pip install 'ilfo\[minari\]'"):
        example().to_minari(ID)
