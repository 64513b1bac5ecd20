"""What held a run back: metrics with a known fault, and what is said of them."""

import pytest

from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.doctor import diagnose

GOOD = {
    "mmd": 0.06,
    "mmd_floor": 0.05,
    "imagined_mmd": 0.06,
    "model_loss": 0.02,
    "runaway_share": 0.0,
    "trust": 0.9,
    "accepted": 1.0,
    "entropy": 0.5,
}
FIRST = GOOD | {"mmd": 1.0, "imagined_mmd": 1.0}


def diagnosed(tmp_path, later, first=FIRST, iterations=12):
    with RunDirectory.create(tmp_path / "run", {"method": "mobile"}) as run:
        for number in range(1, iterations + 1):
            row = {"iteration": number, "seed": 0, "online_samples": 100 * number}
            values = first if number == 1 else later(number) if callable(later) else later
            run.append("metrics", [row | values])
        return diagnose(run)


def test_a_good_run_is_called_good_and_nothing_else(tmp_path):
    (only,) = diagnosed(tmp_path, GOOD)
    assert "the recordings are matched" in only
    assert "untrained policy 1)" in only


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"mmd": 0.9}, "hardly nearer to the recordings than the untrained policy"),
        ({"mmd": 0.3}, "nearer than at the beginning, but not there"),
        ({"mmd": 0.5, "imagined_mmd": 0.1}, "the model is too rosy"),
        ({"model_loss": 0.6}, "leaves 60% of the changes of state unexplained"),
        ({"runaway_share": 0.5}, "50% of the imagined trajectories run away"),
        ({"mmd": 0.5, "trust": 0.05}, "inferred actions explain little"),
        ({"accepted": 0.1}, "only 10% of the policy steps were accepted"),
        ({"mmd": 0.5, "entropy": 0.001}, "the policy hardly varies its actions"),
    ],
)
def test_each_fault_is_named(tmp_path, fault, text):
    assert any(text in finding for finding in diagnosed(tmp_path, GOOD | fault))


def test_no_progress_is_dated(tmp_path):
    later = lambda number: GOOD | {"mmd": 0.3 if number == 3 else 0.5, "imagined_mmd": 0.5}
    found = diagnosed(tmp_path, later)
    assert any("no progress since iteration 3 of 12 (300 environment steps)" in f for f in found)


def test_a_run_without_an_iteration_is_an_error(tmp_path):
    with (
        RunDirectory.create(tmp_path / "run", {"method": "mobile"}) as run,
        pytest.raises(RunError, match="no finished iteration yet"),
    ):
        diagnose(run)


def test_without_distances_there_is_nothing_to_say(tmp_path):
    assert diagnosed(tmp_path, {"loss": 0.3}, first={"loss": 1.0}) == []
