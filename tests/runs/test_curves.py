import builtins

import pytest

from ilfo.runs.curves import draw_curves


def rows(greedy=100.0):
    return [
        {
            "iteration": iteration,
            "online_samples": 40 * iteration,
            "seed": seed,
            "greedy_return": greedy,
            "stochastic_return": None if iteration % 2 else 50.0 + seed,
            "mmd": 1.0 / iteration,
            "imagined_mmd": 0.5,
        }
        for iteration in range(1, 5)
        for seed in (0, 1)
    ]


def test_a_picture_of_what_was_measured(tmp_path):
    image_of = pytest.importorskip("matplotlib.image").imread
    assert draw_curves(rows(), 450.0, tmp_path / "curves.png")
    image = image_of(tmp_path / "curves.png")
    assert image.shape[0] > 200
    assert image.shape[1] > 500
    assert image.std() > 0.01


def test_the_picture_shows_the_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    for name, height, expert in (("a", 100.0, 450.0), ("b", 200.0, 450.0), ("c", 100.0, None)):
        draw_curves(rows(height), expert, tmp_path / f"{name}.png")
    a, b, c = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert a != b
    assert a != c


def test_the_axis_of_returns_holds_whole_scores(tmp_path, drawn_figures):
    close = [row | {"stochastic_return": None} for row in rows(449.0)]
    draw_curves(close, 450.0, tmp_path / "curves.png", 20.0)
    left = drawn_figures[-1].axes[0]
    assert {"expert", "random actions"} < {line.get_label() for line in left.lines}
    low, high = left.get_ylim()
    assert low < 20
    assert high > 450 + 0.05 * 430
    draw_curves(close, 450.0, tmp_path / "unknown.png", float("nan"))
    assert "random actions" not in [line.get_label() for line in drawn_figures[-1].axes[0].lines]


def test_the_picture_says_what_its_bands_are(tmp_path, drawn_figures):
    draw_curves(rows(), 450.0, tmp_path / "two.png")
    draw_curves([row for row in rows() if row["seed"] == 0], 450.0, tmp_path / "one.png")
    two, one = (figure.get_supxlabel() for figure in drawn_figures)
    assert two.startswith("Lines: mean over 2 seeds. Bands: from the lowest seed to the highest.")
    assert two.endswith("the MMD that of the one before, which collected the rollouts.")
    assert "Bands" not in one


def test_a_method_without_online_samples_is_drawn_over_its_iterations(tmp_path, drawn_figures):
    offline = [
        {name: value for name, value in row.items() if "mmd" not in name}
        | {
            "online_samples": 0,
            "greedy_return": row["iteration"],
            "loss": 0.3,
            "held_out_loss": 0.4,
        }
        for row in rows()
    ]
    assert draw_curves(offline, None, tmp_path / "curves.png")
    left, right = drawn_figures[-1].axes
    assert left.get_xlabel() == right.get_xlabel() == "iterations"
    assert left.lines[0].get_xdata().tolist() == left.lines[0].get_ydata().tolist() == [1, 2, 3, 4]
    assert [line.get_ydata()[0] for line in right.lines] == [0.3, 0.4]


@pytest.mark.filterwarnings("error")
def test_nothing_measured_yet(tmp_path):
    pytest.importorskip("matplotlib")
    empty = [row | {"greedy_return": None, "stochastic_return": None} for row in rows()]
    assert draw_curves(empty, None, tmp_path / "curves.png")
    assert draw_curves([], None, tmp_path / "none.png")


def test_without_matplotlib_there_is_no_picture(tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert not draw_curves(rows(), 450.0, tmp_path / "curves.png")
    assert not (tmp_path / "curves.png").exists()
