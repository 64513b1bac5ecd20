"""Samples and seconds to a score, on curves whose crossing is known."""

import json

import pytest

from ilfo.agents.registry import FUNCTIONS
from ilfo.cli import main
from ilfo.experiments.cell import Cell
from ilfo.experiments.effort import effort_rows
from ilfo.experiments.runner import result_files
from ilfo.runs.spec import RunSpec
from ilfo.storage.config import to_dict
from tests.helpers.results import as_result


def written(folder, cell, heights, **more):
    """Results whose greedy return, out of the expert's 100, is measured every second iteration."""
    for path, curve in zip(result_files(folder, "sweep", cell), heights, strict=True):
        rows = [
            {
                "online_samples": 10 * (index + 1),
                "seconds": 2.5 * (index + 1),
                "greedy_return": height if index % 2 else None,
            }
            for index, height in enumerate(height for height in curve for _ in range(2))
        ]
        settings = to_dict(cell.spec.settings(), FUNCTIONS)
        seconds = {"collect": 4.0, "improve": 3.0, "save": 1.0, "total": 60.0}
        summary = {"expert_return": 100.0, "random_return": 0.0, "seconds": seconds}
        summary |= {"online_samples": 10 * len(rows), "demonstrations": {"trajectories": 10}}
        path.parent.mkdir(exist_ok=True)
        result = {"settings": settings, "summary": summary, "curve": rows}
        path.write_text(as_result(result | more))


def test_the_first_point_that_is_high_enough_counts(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=3, total_timesteps=80))
    curves = [[10, 96, 50, 99], [10, 20, 97, 99], [10, 20, 30, 94]]
    written(tmp_path, cell, curves, peak_memory=0.75)
    _, row = effort_rows("sweep", (cell, Cell("none", cell.spec)), tmp_path, 0.95)
    # crossings at the 2nd and 3rd measured points, none for the last seed, which is the latest; the
    # mean is at 0.97
    assert row == ("some", "3", "2", "60", "15", "80", "1.00", "60", "0.75")


def test_a_median_needs_more_than_half_of_the_seeds(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=3, total_timesteps=80))
    written(tmp_path, cell, [[10, 96, 50, 99], [10, 20, 30, 40], [10, 20, 30, 94]])
    assert effort_rows("sweep", (cell,), tmp_path, 0.95)[1][2:5] == ("1", "-", "-")


def test_results_of_another_budget_are_marked(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=1, total_timesteps=200))
    written(tmp_path, cell, [[10, 96, 50, 99]])
    assert effort_rows("sweep", (cell,), tmp_path, 0.95)[1][0] == "some*"


def test_a_score_that_no_seed_has_is_a_dash(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=1))
    written(tmp_path, cell, [[10, 20]])
    row = effort_rows("sweep", (cell,), tmp_path, 0.95)[1]
    assert row[2:6] == ("0", "-", "-", "-")
    assert row[-1] == "-"


def test_files_from_before_seconds_were_kept_have_a_dash_for_them(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=1))
    written(tmp_path, cell, [[10, 99]])
    (path,) = result_files(tmp_path, "sweep", cell)
    result = json.loads(path.read_text())
    for row in result["curve"]:
        del row["seconds"]
    path.write_text(json.dumps(result))
    assert effort_rows("sweep", (cell,), tmp_path, 0.95)[1][2:5] == ("1", "40", "-")


def test_one_table_at_a_time(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "table", "tasks", "--effort", "0.9", "--against", "random"])
    assert "choose one" in capsys.readouterr().err
