import numpy as np
import pytest

from ilfo.data.demonstrations import DemonstrationError, Demonstrations
from tests.data.test_demonstrations import arrays, assert_same


def save(path, array):
    path.parent.mkdir(exist_ok=True)
    np.save(path, array)
    return path


def test_one_trajectory_or_several_of_one_length(tmp_path):
    block = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    one = Demonstrations.load(save(tmp_path / "one.npy", block[0]), terminal=True)
    assert [(t.states.tolist(), t.terminal) for t in one] == [(block[0].tolist(), True)]
    both = Demonstrations.load(save(tmp_path / "both.npy", block), terminal=[True, False])
    assert_same(Demonstrations.from_arrays(block, terminal=[True, False]), both, actions=False)


def test_a_folder_is_streamed_in_the_order_of_the_names(tmp_path):
    states, _ = arrays()
    for index in (2, 0, 1):
        save(tmp_path / "walks" / f"{index}.npy", states[index])
    save(tmp_path / "walks" / "3.npy", np.stack([states[0], states[0]]))
    demos = Demonstrations.load(tmp_path / "walks", terminal=False)
    expected = Demonstrations.from_arrays([*states, states[0], states[0]], terminal=False)
    assert demos.lengths.tolist() == expected.lengths.tolist()  # before a number is read
    assert_same(expected, demos, actions=False)
    assert_same(demos, demos, actions=False)


@pytest.mark.parametrize("terminal", [None, "done"])
def test_how_they_ended_is_never_guessed(tmp_path, terminal):
    path = save(tmp_path / "one.npy", np.zeros((3, 2)))
    with pytest.raises(DemonstrationError, match=r"one\.npy: .*--terminal true.*--terminal false"):
        Demonstrations.load(path, terminal=terminal)


def test_what_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "bad.npy"
    for array, complaint in (
        (np.zeros(3), r"shape \(3,\), expected \(T\+1, S\)"),
        (np.zeros((1, 2)), "trajectory 0: .*two states or more"),
        (np.full((3, 2), np.nan), "trajectory 0: .*step 0, dimension 0 is nan"),
        (np.array([["a", "b"]] * 3), "dtype <U1, expected real numbers"),
    ):
        with pytest.raises(DemonstrationError, match=rf"bad\.npy.*{complaint}"):
            Demonstrations.load(save(path, array), terminal=False)
    for content in (b"", b"no array", path.read_bytes()[:90]):
        path.write_bytes(content)
        with pytest.raises(DemonstrationError, match=r"bad\.npy cannot be read"):
            Demonstrations.load(path, terminal=False)
    good = save(tmp_path / "good.npy", np.zeros((3, 2)))
    with pytest.raises(DemonstrationError, match="actions are needed"):
        Demonstrations.load(good, terminal=False, actions=True)
    with pytest.raises(ValueError, match=r"states is given .*, but .*good\.npy is no table"):
        Demonstrations.load(good, terminal=False, states=["x"])


def test_files_of_different_dimensions_do_not_mix(tmp_path):
    for dim in (2, 3):
        save(tmp_path / "mixed" / f"{dim}.npy", np.zeros((3, dim)))
    demos = Demonstrations.load(tmp_path / "mixed", terminal=False)
    with pytest.raises(DemonstrationError, match=r"3\.npy: trajectory 0: .*dimension 3, but"):
        list(demos)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code of the file has run",))


def test_an_array_of_objects_is_not_unpickled(tmp_path):
    path = tmp_path / "bomb.npy"
    np.save(path, np.array([[Bomb()]], dtype=object), allow_pickle=True)
    with pytest.raises(DemonstrationError, match=r"bomb\.npy cannot be read"):
        Demonstrations.load(path, terminal=False)
