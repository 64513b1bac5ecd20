"""The permutation test on groups whose p is known, and its table."""

import numpy as np
import pytest

from ilfo.agents.registry import FUNCTIONS
from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import result_files
from ilfo.experiments.scores import sweep_rows
from ilfo.experiments.significance import (
    against_bco,
    against_no_bonus,
    against_random,
    chance_of_as_much,
)
from ilfo.experiments.sweeps.methods import CELLS, CONTINUOUS
from ilfo.runs.spec import RunSpec
from ilfo.storage.config import to_dict
from tests.helpers.results import as_result


def test_groups_that_do_not_overlap_have_the_smallest_p():
    """One of the 252 ways to deal ten returns out to five and five."""
    better, worse = np.arange(5) + 100.0, np.arange(5.0)
    assert chance_of_as_much(better, worse) == pytest.approx(1 / 252)
    assert chance_of_as_much(worse, better) == 1.0
    assert chance_of_as_much([1.0, 2.0], [0.0, 0.5]) == pytest.approx(1 / 6)


def test_groups_of_the_same_are_told_apart_as_often_as_p_says():
    generator = np.random.default_rng(0)
    p_values = np.array([chance_of_as_much(*generator.normal(size=(2, 5))) for _ in range(200)])
    assert 0.4 < p_values.mean() < 0.6
    assert (p_values <= 0.05).mean() < 0.1


def written(folder, cell, returns, *, curve=(), **more):
    for seed, path in enumerate(result_files(folder, "sweep", cell)):
        scores = {"greedy_return": returns[seed], "stochastic_return": 21.0}
        scores |= {"greedy_score": returns[seed] / 450, "stochastic_score": 0.05}
        summary = {"env": "CartPole-v1", "online_samples": 300}
        summary["demonstrations"] = {"trajectories": 10}
        summary |= {"expert_return": 450.0, "random_return": 22.5}
        path.parent.mkdir(exist_ok=True)
        result = {"result": scores | more, "summary": summary, "curve": curve}
        settings = to_dict(cell.spec.settings(), FUNCTIONS)
        path.write_text(as_result(result | {"settings": settings}))


def test_the_table_compares_with_random_actions(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=3))
    written(tmp_path, cell, [400.0, 500.0, 450.0])
    header, row = against_random("sweep", (cell, Cell("none", cell.spec)), tmp_path)
    assert len(header) == len(row)
    assert row[0] == "some"
    assert 15 < float(row[2]) < 30
    assert row[3:5] == ("450.0", "0.050")  # 1 of 20 ways
    assert float(row[6]) > 0.05


def test_policies_of_other_rules_have_their_own_rows(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=3))
    other = {"rule": "held-out-likelihood", "greedy_score": 0.5, "stochastic_score": 0.25}
    other |= {"greedy_return": 225.0, "stochastic_return": 112.5}
    written(tmp_path, cell, [450.0] * 3, alternatives=[other])
    _, mine, second, expert, chance = sweep_rows("sweep", (cell,), tmp_path)
    assert mine[:3] == ("some", "3", "1.00 [1.00, 1.00]")
    assert second[:3] == ("some (held-out-likelihood)", "3", "0.50 [0.50, 0.50]")
    assert expert[:3] == ("expert of CartPole-v1", "", "1.00")
    assert chance[:3] == ("random of CartPole-v1", "", "0.05")
    assert len({len(row) for row in (mine, second, expert, chance)}) == 1


def test_every_cell_of_the_methods_has_settings():
    """Presets exist and changes apply; no cell combines ILPO with continuous actions."""
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names)
    assert not {f"{task}-ilpo" for task in CONTINUOUS} & set(names)
    for cell in CELLS:
        settings = cell.spec.settings()
        if cell.name.endswith("-constant"):
            assert settings.classifier.cost_form == "constant"


def test_whole_curves_are_compared_with_those_without_bonus(tmp_path):
    spec = RunSpec(task="cartpole", seeds=3, total_timesteps=300)
    cells = [Cell(name, spec) for name in ("a", "a-no-bonus", "b")]

    def curve(height):
        return [{"online_samples": x, "greedy_return": height * x} for x in (100, 200, 300)]

    written(tmp_path, cells[0], [400.0] * 3, curve=curve(1.5))
    written(tmp_path, cells[1], [400.0] * 3, curve=curve(0.75))
    written(tmp_path, cells[2], [400.0] * 3, curve=curve(1.0))
    header, row = against_no_bonus("sweep", cells, tmp_path)
    assert dict(zip(header, row, strict=True)) == {
        "cell": "a",
        "seeds": "3, 3",
        "mean score of the curve": "0.667",
        "without bonus": "0.333",
        "p (bonus is better)": "0.050",
        "p (bonus is worse)": "1.000",
    }


def test_curves_are_compared_with_bco_where_both_were_evaluated(tmp_path):
    """MobILE is ahead at 100 and behind at 300; 50 and 200 are not points of both."""
    spec = RunSpec(task="cartpole", seeds=4, total_timesteps=300)
    cells = [Cell(name, spec) for name in ("a", "a-bco", "b")]

    def curve(*points):
        return [{"online_samples": x, "greedy_return": y} for x, y in points]

    written(tmp_path, cells[0], [0.0] * 4, curve=curve((50, 0), (100, 400), (200, 0), (300, 225)))
    written(tmp_path, cells[1], [0.0] * 4, curve=curve((100, 300), (300, 450)))
    header, row = against_bco("sweep", cells, tmp_path)
    assert dict(zip(header, row, strict=True)) == {
        "cell": "a",
        "seeds": "4, 4",
        "points of the curves": "2",
        "MobILE is lower (p < 0.05)": "1",
        "largest lead of BC-O": "0.50",
        "at environment steps": "300",
        "p": "0.014",
    }
