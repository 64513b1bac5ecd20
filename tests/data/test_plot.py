import numpy as np
import pytest

from ilfo.data.demonstrations import Demonstrations
from ilfo.data.plot import draw_demonstrations

imread = pytest.importorskip("matplotlib.image").imread


def walks(dim, seed=0):
    steps = np.random.default_rng(seed).normal(size=(7, 31, dim))
    return Demonstrations.from_arrays(steps.cumsum(1), terminal=False)


@pytest.mark.parametrize(("dim", "rows"), [(1, 1), (4, 2), (25, 6)])
def test_a_row_of_axes_for_three_dimensions(dim, rows, tmp_path):
    draw_demonstrations(walks(dim), tmp_path / "picture.png")
    image = imread(tmp_path / "picture.png")
    assert image.shape[0] == 180 * rows
    assert image.std() > 0.01


def test_the_picture_shows_the_states_and_nothing_is_overwritten(tmp_path):
    for seed in (0, 1):
        draw_demonstrations(walks(2, seed), tmp_path / f"{seed}.png")
    first, second = ((tmp_path / f"{seed}.png").read_bytes() for seed in (0, 1))
    assert first != second
    with pytest.raises(FileExistsError, match=r"0\.png exists already"):
        draw_demonstrations(walks(2), tmp_path / "0.png")
    assert (tmp_path / "0.png").read_bytes() == first
