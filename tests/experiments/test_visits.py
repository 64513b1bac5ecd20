"""The picture of where each λ has been, from made-up visits."""

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.experiments.runner import find_sweep
from ilfo.experiments.visits import draw_visits
from tests.helpers.results import write_exploration

CELLS = {cell.name: cell for cell in find_sweep("exploration")}


def write_visits(results, name, seeds):
    shape = [number for *_, number in CELLS[name].visits]
    visits = np.random.default_rng(0).integers(0, 4, size=shape).tolist()
    write_exploration(results, name, 0.5, seeds, visits)


@pytest.fixture
def figure(tmp_path):
    """λ = 0 has three seeds in the maze, λ = 0.1 one, λ = 0.3 none."""
    pytest.importorskip("matplotlib")
    for name, seeds in {"maze-no-bonus": 3, "maze": 1}.items():
        write_visits(tmp_path, name, seeds)
    return draw_visits("exploration", list(CELLS.values()), tmp_path)


def test_each_weight_has_its_steps_and_seeds_or_says_that_there_are_none(figure):
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in panels] == [
        "maze, λ = 0*: 12,000 steps, 3 seeds",
        "maze, λ = 0.1*: 12,000 steps, 1 seed",
        "maze, λ = 0.3",
    ]
    said = [[text.get_text() for text in axis.texts] for axis in panels]
    assert said == [[], [], ["no results yet"]]


def test_the_axes_have_names_and_a_demonstration_lies_over_the_visits(figure):
    axis = figure.axes[0]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("x", "y")
    (line,) = axis.lines
    expected = next(iter(CELLS["maze"].record())).states
    np.testing.assert_allclose(line.get_xydata(), expected)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a demonstration"]


def test_one_line_says_which_seeds_settings_and_commit_made_it(figure):
    line = figure.get_suptitle().replace("\n", " ")
    assert "maze, λ = 0*: 3 seeds (10-12), preset default with" in line
    assert "inference=none, weight=0, commit 0123456" in line


def test_the_command_writes_it_once(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    results, out = tmp_path / "results", tmp_path / "out"
    command = ["bench", "plot", "exploration", "--visits", "--out", str(out)]
    with pytest.raises(SystemExit):
        main([*command, "--results", str(results)])
    assert "holds no results that say where training has been" in capsys.readouterr().err
    assert not out.exists()
    write_visits(results, "lock", 2)
    main([*command, "--results", str(results)])
    assert (out / "exploration-visits.png").stat().st_size > 5_000
    with pytest.raises(SystemExit):
        main([*command, "--results", str(results)])
