"""What the studies found at full size, as results/studies holds it: rates near the theory's, told
apart by whole intervals, and coverage as promised."""

import csv
import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[3] / "results" / "studies"


def table(study, name):
    return list(csv.DictReader((RECORDED / study / f"{name}.csv").open()))


def slopes(study, key):
    """The first row of each name: over the whole range."""
    intervals = {}
    for row in table(study, "slopes"):
        low, high = float(row["low"]), float(row["high"])
        intervals.setdefault(row[key], (low, high, float(row["theory"])))
    return intervals


def test_regret_grows_as_the_theory_says_and_in_its_order():
    intervals = slopes("explore", "algorithm")
    low, high, theory = intervals["epsilon-greedy"]
    assert low > theory - 0.1
    assert high < theory + 0.05
    for name in ("optimism", "matching with bonus", "greedy"):
        assert intervals[name][0] > intervals[name][2] - 0.05
        assert intervals[name][1] < intervals[name][2] + 0.05
    assert intervals["optimism"][1] < intervals["epsilon-greedy"][0]
    assert intervals["epsilon-greedy"][1] < intervals["greedy"][0]


def test_no_recorded_regret_is_below_the_lower_bound():
    rows = table("explore", "lower_bound")
    assert len({row["algorithm"] for row in rows}) == 6
    assert all(float(row["ratio"]) > 1 for row in rows)


def test_regret_grows_like_the_root_of_the_number_of_actions():
    rows = [row for row in table("actions", "slopes") if row["of"] != "regret"]
    assert len(rows) == 2
    for row in rows:
        assert abs(float(row["value"]) - 0.5) < 0.06


def test_the_worst_gap_lies_inside_the_grid():
    """Or is 1, the largest gap there is; else the worst case was not found."""
    for row in table("actions", "regret"):
        if row["learner"] != "cloning one action":
            root = (float(row["√(AT)/16"]) * 16) / settings("actions")["rounds"]
            assert 1.1 * root < float(row["worst gap"]) < 7.9 * root
    for row in table("explore", "worst_case"):
        assert float(row["worst gap"]) > 1.1 * (settings("explore")["arms"] / int(row["T"])) ** 0.5


def test_the_floor_of_tabular_mobile_falls_like_the_root_of_the_demonstrations():
    for low, high, theory in slopes("tabular", "floor").values():
        assert low < theory < high


def test_recorded_coverage_is_at_least_what_was_promised_within_binomial_error():
    rows = [row for row in table("calibration", "coverage") if "σ/" not in row["uncertainty"]]
    assert len(rows) == 14
    for row in rows:
        failing = row["uncertainty"] == "finite class, paper" and "0.1" in row["setting"]
        assert (float(row["high"]) < 0.5) if failing else (float(row["high"]) >= 0.9)


@pytest.mark.parametrize("study", ["explore", "actions", "calibration"])
def test_rates_and_coverage_rest_on_thousands_of_repetitions(study):
    assert settings(study)["repetitions"] >= 2000


def settings(study):
    return json.loads((RECORDED / study / "study.json").read_text())["settings"]
