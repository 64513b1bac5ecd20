"""What one format holds, another holds too."""

import csv

import gymnasium as gym
import numpy as np
import pytest

from ilfo.data.demonstrations import DemonstrationError, Demonstrations
from tests.data.test_demonstrations import arrays, assert_same, example

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari")


@pytest.fixture(autouse=True)
def minari_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


PLACES = ["demos.npz", "demos.parquet", "demos.csv", "minari:toy/walk-v0"]


@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("second", PLACES)
def test_from_every_format_to_every_other(tmp_path, monkeypatch, first, second):
    monkeypatch.chdir(tmp_path)
    demos = example(metadata={"names": ["height", "speed"], "states_every": 4})
    demos.save(first)
    again = Demonstrations.load(first, actions=True)
    second = second.replace("demos", "again").replace("walk", "again")
    again.save(second)
    loaded = Demonstrations.load(second, actions=True)
    assert_same(demos, loaded)
    assert loaded.returns.tolist() == demos.returns.tolist()
    assert loaded.names == demos.names
    kept = "demos.csv" not in first and ".csv" not in second
    assert loaded.every == (4 if kept else 1)
    assert_same(demos, Demonstrations.load(second), actions=False)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_discrete_actions_stay_whole_in_a_table(tmp_path, suffix):
    path = tmp_path / f"demos.{suffix}"
    acted = [np.array([0, 1, 1])]
    demos = Demonstrations.from_arrays(np.zeros((1, 4, 2)), terminal=False, actions=acted)
    demos.save(path)
    (loaded,) = Demonstrations.load(path, actions=True)
    assert (loaded.actions.tolist(), loaded.actions.dtype) == ([0, 1, 1], np.int64)


def test_a_table_names_its_columns(tmp_path):
    Demonstrations.from_arrays([[[1, 2], [3, 4]]], terminal=True).save(tmp_path / "numbers.csv")
    named = example(metadata={"names": ["height", "speed"]})
    named.save(tmp_path / "names.csv")
    Demonstrations.from_arrays(
        [[[1.0], [2.0]]], terminal=True, metadata={"names": ["reward"]}
    ).save(tmp_path / "taken.csv")
    heads = {path.stem: next(csv.reader(path.open(newline=""))) for path in tmp_path.glob("*.csv")}
    assert heads["numbers"] == ["episode", "step", "state_0", "state_1", "terminal"]
    assert heads["names"][2:] == ["height", "speed", "action_0", "reward", "terminal"]
    assert heads["taken"][2] == "state_0"


def test_arrays_hold_the_states_and_say_what_they_leave_out(tmp_path):
    demos = example()
    demos.save(tmp_path / "walks")
    assert [file.name for file in sorted((tmp_path / "walks").iterdir())] == [
        "0.npy",
        "1.npy",
        "2.npy",
    ]
    loaded = Demonstrations.load(tmp_path / "walks", terminal=[True, False, True])
    assert_same(demos, loaded, actions=False)
    with pytest.raises(ValueError, match=r"from 2 to 6 states, but one \.npy file"):
        demos.save(tmp_path / "walks.npy")
    assert [file.name for file in tmp_path.iterdir()] == ["walks"]
    equal = Demonstrations.from_arrays(np.ones((2, 3, 1)), terminal=False)
    equal.save(tmp_path / "equal.npy")
    assert np.load(tmp_path / "equal.npy").shape == (2, 3, 1)
    ended = "how trajectories ended"
    assert demos.left_out_of("walks") == [ended, "actions", "returns", "env", "seed"]
    assert equal.left_out_of("equal.npy") == [ended]
    assert demos.left_out_of("demos.csv") == ["env", "seed"]
    assert demos.left_out_of("demos.npz") == demos.left_out_of("minari:toy/walk-v0") == []


@pytest.mark.parametrize("name", ["demos.csv", "demos.parquet", "demos.npy", "walks"])
def test_nothing_is_overwritten_or_left_half_written(tmp_path, name, monkeypatch):
    states, _ = arrays(lengths=(3, 3))
    demos = Demonstrations.from_arrays(states, terminal=False)
    place = tmp_path / "new" / name
    demos.save(place)
    with pytest.raises(FileExistsError, match=f"{name} exists"):
        demos.save(place)

    def fail(*_, **__):
        raise OSError("disk full")

    for module, function in (("numpy", "save"), ("csv", "writer"), ("pyarrow", "table")):
        monkeypatch.setattr(f"{module}.{function}", fail)
    with pytest.raises(OSError, match="disk full"):
        demos.save(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["new"]


def test_other_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.npz, \.csv, \.parquet, \.npy"):
        example().save(tmp_path / "demos.xlsx")
    words = [np.array(["left", "up"])]
    demos = Demonstrations.from_arrays(np.zeros((1, 3, 2)), terminal=True, actions=words)
    with pytest.raises(ValueError, match=r"dtype <U4, but a table holds numbers"):
        demos.save(tmp_path / "demos.csv")


def test_what_a_file_says_itself_cannot_be_said_again(tmp_path):
    example().save(tmp_path / "demos.npz")
    example().save("minari:toy/walk-v0")
    for place in (tmp_path / "demos.npz", "minari:toy/walk-v0"):
        with pytest.raises(ValueError, match="terminal is given as False"):
            Demonstrations.load(place, terminal=False)


def test_a_part_of_a_table_that_says_what_it_holds(tmp_path):
    held = {"names": ["height", "speed"], "observed": [3, 5]}
    example(metadata=held).save(tmp_path / "demos.parquet")
    assert Demonstrations.load(tmp_path / "demos.parquet").observed == (3, 5)
    part = Demonstrations.load(tmp_path / "demos.parquet", states=["speed"])
    assert (part.names, part.observed) == (("speed",), None)


def test_names_must_fit_the_states():
    with pytest.raises(ValueError, match=r"name 1 dimensions, \['height'\], but states have 2"):
        _ = example(metadata={"names": ["height"]}).names
    for wrong in ("height", ["a", "a"], ["a", 3]):
        with pytest.raises(ValueError, match=r"names is .*, but must"):
            example(metadata={"names": wrong})


def test_a_missing_dataset_says_how_to_get_it():
    with pytest.raises(FileNotFoundError, match="minari download toy/nowhere-v0"):
        Demonstrations.load("minari:toy/nowhere-v0")
    with pytest.raises(FileNotFoundError, match="minari:ID for a Minari dataset"):
        Demonstrations.load("toy/nowhere-v0")


def test_a_dataset_of_others_is_converted(tmp_path):
    import minari
    from minari.data_collector import EpisodeBuffer

    steps = 3
    buffer = EpisodeBuffer(
        observations=np.arange(8, dtype=np.float32).reshape(4, 2),
        actions=np.ones((steps, 1), np.float32),
        rewards=np.ones(steps),
        terminations=np.array([False, False, True]),
        truncations=np.zeros(steps, bool),
    )
    minari.create_dataset_from_buffers(
        "toy/walk-v0",
        [buffer],
        observation_space=gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
        action_space=gym.spaces.Box(-1, 1, (1,), np.float32),
    )
    Demonstrations.load("minari:toy/walk-v0", actions=True).save(tmp_path / "walk.csv")
    with pytest.raises(DemonstrationError, match="terminal is given twice"):
        Demonstrations.load(tmp_path / "walk.csv", terminal=True)
    (walk,) = Demonstrations.load(tmp_path / "walk.csv", actions=True)
    assert (walk.terminal, walk.states[-1].tolist()) == (True, [6, 7])
    assert walk.actions.tolist() == [[1.0]] * 3
