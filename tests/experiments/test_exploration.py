"""The exploration suite: its cells, its tests with Holm's correction."""

import pytest

from ilfo.agents.registry import FUNCTIONS
from ilfo.experiments.exploration import PAPERS_TASKS, exploration_rows, outcome
from ilfo.experiments.runner import find_sweep
from ilfo.experiments.significance import holm
from ilfo.experiments.sweeps.exploration import FAMILIES, PROBLEMS
from ilfo.storage.config import to_dict
from tests.helpers.results import write_exploration as write

CELLS = {cell.name: cell for cell in find_sweep("exploration")}


def test_holm_is_the_textbook_example():
    """Each p times the number of those that are not smaller, and never less than a smaller one."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_each_task_has_three_weights_ten_seeds_and_the_same_budget():
    for task in PROBLEMS:
        cells = [CELLS[f"{task}{suffix}"] for suffix in ("", "-no-bonus", "-0.3")]
        assert [cell.spec.settings().weight for cell in cells] == [0.1, 0.0, 0.3]
        assert {tuple(cell.seeds) for cell in cells} == {tuple(range(10, 20))}
        assert len({cell.spec.budget for cell in cells}) == 1
        assert {cell.spec.settings().policy for cell in cells} == {cells[0].spec.settings().policy}
        if cells[0].visits is not None:
            buffer = cells[0].spec.settings()
            assert buffer.buffer_horizons is None  # 19,200 steps: all that training visits
            assert cells[0].spec.budget <= 19_200


def test_the_stock_task_has_one_demonstration_of_the_stochastic_expert():
    cells = [CELLS[f"half-cheetah{suffix}"] for suffix in ("", "-no-bonus", "-0.3")]
    for cell in cells:
        assert (cell.spec.env, cell.spec.horizon, cell.spec.budget) == (
            "HalfCheetah-v5",
            1_000,
            40_000,
        )
        assert cell.spec.settings().inference is None
        assert cell.every == 1  # an iteration is 2,000 steps: 20 points
        demonstrations = cell.record()
        assert demonstrations.count() == 1
        assert not demonstrations.has_actions
        assert demonstrations.metadata["greedy"] is False


def test_scripted_experts_show_ten_demonstrations():
    for task in set(PROBLEMS) - {"half-cheetah"}:
        assert CELLS[task].record().count() == 10


def test_every_comparison_is_of_two_cells_that_differ_in_the_bonus_alone():
    for pairs in FAMILIES.values():
        for name, reference in pairs.items():
            without = CELLS[reference].spec.changes
            assert "weight=0" in without
            ours = set(CELLS[name].spec.changes) - set(without)
            assert all(change.startswith(("weight=", "bonus=", "balanced=")) for change in ours)
            assert set(without) - set(CELLS[name].spec.changes) == {"weight=0"}


def test_chances_are_corrected_over_the_tasks_of_a_family(tmp_path):
    for name, height in {"lock": 0.9, "maze": 0.5, "deepsea10": 0.5}.items():
        write(tmp_path, name, height)
        write(tmp_path, f"{name}-no-bonus", 0.5)
    header, *rows = exploration_rows("exploration", list(CELLS.values()), tmp_path)
    by_cell = {row[1].rstrip("*"): row for row in rows}
    assert set(by_cell) == {"lock", "maze", "deepsea10"}
    p, corrected = map(float, by_cell["lock"][5:7])
    assert p == pytest.approx(1 / 924, abs=1e-4)
    assert corrected == pytest.approx(3 * p, abs=2e-4)
    assert float(by_cell["maze"][6]) == 1
    assert len({len(row) for row in (header, *rows)}) == 1


def test_the_outcome_counts_what_is_significant_after_the_correction(tmp_path):
    cells, pairs = list(CELLS.values()), FAMILIES["λ = 0.1"]
    for name, (mine, without) in {"lock": (0.9, 0.5), "maze": (0.2, 0.5)}.items():
        write(tmp_path, name, mine)
        write(tmp_path, f"{name}-no-bonus", without)
    said = outcome("exploration", cells, tmp_path, pairs)
    assert said == (
        "significantly better on 1 (lock*) and worse on 1 (maze*) of 7 tasks; 2 of 7 have been run"
    )
    nothing = outcome("exploration", cells, tmp_path / "x", pairs)
    assert nothing == "none of 7 tasks has been run"


def test_the_papers_tasks_have_cells_without_bonus():
    names = {cell.name for cell in find_sweep("tasks")}
    assert len(PAPERS_TASKS) == 6
    assert names >= {*PAPERS_TASKS, *PAPERS_TASKS.values()}


def test_a_cell_is_marked_where_its_reference_is_stale(tmp_path):
    now = to_dict(CELLS["lock"].spec.settings(), FUNCTIONS)
    taken = CELLS["lock"].spec.budget
    write(tmp_path, "lock", 0.9, settings=now, taken=taken)
    write(tmp_path, "lock-no-bonus", 0.5, settings=now | {"weight": 0.0}, taken=taken)
    name = lambda: exploration_rows("exploration", list(CELLS.values()), tmp_path)[1][1]
    assert name() == "lock"
    write(tmp_path, "lock-no-bonus", 0.5, settings=now, taken=taken)
    assert name() == "lock*"
