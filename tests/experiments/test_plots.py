"""Pictures of sweeps, and the numbers they are drawn from."""

import numpy as np
import pytest

from ilfo.common.figures import make_figure
from ilfo.common.statistics import on_grid
from ilfo.experiments.cell import Cell
from ilfo.experiments.plots import _add_legend, _by_task, _draw_curves, draw_sweep
from ilfo.experiments.results import area, best_by_reward, read_results, score_curve
from ilfo.experiments.runner import find_cells, find_sweep, result_file
from ilfo.runs.spec import RunSpec
from tests.helpers.results import as_result, write_exploration

CELL = Cell("cartpole-odd", RunSpec(task="cartpole", seeds=2))


def result(returns, *, step=10, expert=100.0):
    curve = [
        {"online_samples": step * (i + 1), "greedy_return": value, "stochastic_return": value}
        | {"seconds": 0.5 + i}
        for i, value in enumerate(returns)
    ]
    return {
        "summary": {"expert_return": expert, "random_return": 0.0},
        "curve": curve,
        "result": {"greedy_score": returns[-1] / expert},
    }


@pytest.fixture
def results(tmp_path):
    for seed, returns in enumerate(([0.0, 50.0, 100.0], [20.0, None, 60.0])):
        path = result_file(tmp_path / "results", "sweep", CELL, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_result(result(returns)))
    return tmp_path / "results"


def test_curves_are_scores_where_they_were_measured(results):
    first, second = read_results(results, "sweep", CELL)
    assert score_curve(first).tolist() == [[10, 0], [20, 0.5], [30, 1]]
    assert score_curve(second).tolist() == [[10, 0.2], [30, 0.6]]
    assert score_curve(second, over="seconds").tolist() == [[0.5, 0.2], [2.5, 0.6]]
    assert best_by_reward(first) == 1
    # a policy that was chosen between two points of the curve can be better than all of them
    assert best_by_reward(second | {"result": {"greedy_score": 0.8}}) == 0.8


def test_area_is_the_mean_height(results):
    first, second = read_results(results, "sweep", CELL)
    assert area(first) == pytest.approx(0.5)
    assert area(second) == pytest.approx(0.4)


def test_curves_meet_on_the_grid_of_the_first_and_at_the_end_of_the_shortest():
    short = np.array([[10, 0.0], [20, 1.0]])
    long = np.array([[5, 0.0], [15, 1.0], [45, 4.0]])
    samples, scores = on_grid([short, long])
    assert samples.tolist() == [10, 20]
    np.testing.assert_allclose(scores, [[0, 1], [0.5, 1.5]])
    assert on_grid([long, short])[0].tolist() == [5, 15, 20]


def test_curves_without_a_common_stretch_meet_at_the_end_of_the_shorter():
    slow = np.array([[10, 0.0], [20, 1.0]])
    fast = np.array([[1, 0.0], [2, 0.5]])
    seconds, scores = on_grid([slow, fast])
    assert seconds.tolist() == [2]
    np.testing.assert_allclose(scores, [[0], [0.5]])


def test_a_seed_that_took_much_longer_is_drawn(results, tmp_path):
    path = result_file(results, "sweep", CELL, 0)
    late = result([0.0, 50.0, 100.0])
    for row in late["curve"]:
        row["seconds"] += 100
    path.write_text(as_result(late))
    assert draw_sweep("sweep", [CELL], results, tmp_path / "pictures")


def test_four_pictures_are_drawn_and_none_is_overwritten(results, tmp_path):
    pytest.importorskip("matplotlib")
    paths = draw_sweep("sweep", [CELL], results, tmp_path / "out")
    assert [path.name for path in paths] == [
        "sweep-curves.png",
        "sweep-running-max.png",
        "sweep-bars.png",
        "sweep-seconds.png",
    ]
    assert all(path.stat().st_size > 5_000 for path in paths)
    with pytest.raises(FileExistsError, match=r"sweep-curves\.png exists already"):
        draw_sweep("sweep", [CELL], results, tmp_path / "out")


def test_a_method_without_samples_is_a_flat_line(results, drawn_figures, tmp_path):
    """At the chosen policy's score, and in the running maximum at the best one's."""
    offline = Cell("cartpole-flat", RunSpec(task="cartpole", seeds=2))
    for seed, returns in enumerate(([90.0, 50.0], [70.0, 30.0])):
        path = result_file(results, "sweep", offline, seed)
        path.write_text(as_result(result(returns, step=0)))
    draw_sweep("sweep", [CELL, offline], results, tmp_path / "out")
    assert len(drawn_figures) == 4
    for figure, height in zip(drawn_figures, (0.4, 0.8), strict=False):
        (flat,) = [line for line in figure.axes[0].lines if line.get_label() == "flat"]
        np.testing.assert_allclose(flat.get_ydata(), height)


def test_a_sweep_without_results_is_said_so(tmp_path):
    with pytest.raises(ValueError, match="holds no results"):
        draw_sweep("sweep", [CELL], tmp_path, tmp_path / "out")


def test_cells_of_an_environment_are_named_by_what_distinguishes_them(tmp_path):
    """Twelve of one task have as many looks, and the legend fits."""
    pytest.importorskip("matplotlib")
    cells = find_sweep("exploration")
    for cell in cells:
        write_exploration(tmp_path, cell.name, 0.5, 1)
    groups = _by_task("exploration", cells, tmp_path)
    assert list(groups["MountainCarContinuous-v0"]) == ["default", "no-bonus", "0.3"]
    lock = groups["ilfo/CombinationLock-v0"]
    assert len(lock) == 12
    assert {"default", "knr-theorem", "no-starts-no-bonus"} < set(lock)
    figure = make_figure(5, 4)
    _draw_curves(figure.subplots(), lock)
    _add_legend(figure)
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(looks) == 12
    assert figure.legends[0]._ncols == 6


def test_a_cell_alone_is_not_taken_for_the_default(tmp_path):
    (cell,) = find_cells("exploration", ["lock-no-bonus"])
    write_exploration(tmp_path, cell.name, 0.5, 1)
    groups = _by_task("exploration", [cell], tmp_path)
    assert list(groups["ilfo/CombinationLock-v0"]) == ["no-bonus"]
