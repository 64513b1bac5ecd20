"""A sweep of one tiny cell: run, keep, skip, tabulate."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ilfo.common.statistics import interval
from ilfo.common.text_tables import as_markdown, print_table
from ilfo.environments.stock import recorded_environments
from ilfo.environments.tasks import TASKS, find_task
from ilfo.experiments.cell import Cell
from ilfo.experiments.results import read_results
from ilfo.experiments.runner import (
    SWEEPS,
    find_cells,
    find_sweep,
    result_file,
    result_files,
    run_seed,
)
from ilfo.experiments.scores import stale_note, sweep_rows
from ilfo.experiments.stale import changed
from ilfo.experiments.sweeps.endings import place_error, record_goal, record_hold, steps_taken
from ilfo.experiments.sweeps.stock import cells_of
from ilfo.experiments.sweeps.tasks import CHEAP
from ilfo.methods.mobile import MobILE
from ilfo.runs.spec import RunSpec
from tests.helpers.agents import MACHINE, STEP, demonstrations, small_spec


@pytest.fixture(scope="module")
def ran(tmp_path_factory, cache_home):
    folder = tmp_path_factory.mktemp("bench")
    bins = ((-3.0, 3.0, 4), (-50.0, 50.0, 2))
    cell = Cell("tiny", small_spec("", 2), demonstrations, steps_taken, bins)
    run_all(cell, folder)
    return cell, folder


def run_all(cell, folder):
    for seed in cell.seeds:
        run_seed("sweep", cell, seed, folder / "results", folder / "runs", MACHINE)


def test_one_file_per_seed_with_its_curve(ran):
    cell, folder = ran
    for seed, path in enumerate(result_files(folder / "results", "sweep", cell)):
        result = json.loads(path.read_text())
        assert result["result"]["seed"] == seed
        assert [row["online_samples"] for row in result["curve"]] == [STEP, 2 * STEP]
        assert 0 < result["result"]["steps_taken"] <= cell.spec.horizon
        assert result["settings"]["type"] == "MobILESettings"
        assert result["spec"]["first_seed"] == seed
        seconds = [row["seconds"] for row in result["curve"]]
        assert 0 < seconds[0] < seconds[1]
        for row in result["curve"]:
            assert set(MobILE.method.metrics) < set(row)
            assert row["model_loss"] > 0


def test_a_result_says_where_training_has_been(ran):
    cell, folder = ran
    for result in read_results(folder / "results", "sweep", cell):
        visits = np.array(result["visits"])
        assert visits.shape == (4, 2)
        assert visits.sum() == 2 * STEP
        assert visits[[0, 3]].sum() == 0  # in so few steps the cart stays near the middle


def test_a_second_call_changes_nothing_measured(ran):
    cell, folder = ran
    files = result_files(folder / "results", "sweep", cell)
    read = lambda: [json.loads(path.read_text()) for path in files]
    before = read()
    run_all(cell, folder)
    for old, new in zip(before, read(), strict=True):
        assert old["result"] == new["result"]
        assert old["curve"] == new["curve"]


def test_table_has_a_row_per_cell_with_results(ran):
    cell, folder = ran
    other = Cell("missing", cell.spec)
    header, row, *references = sweep_rows("sweep", (cell, other), folder / "results")
    assert row[0] == "tiny"
    assert len(row) == len(header)
    lines = as_markdown([header, row]).splitlines()
    assert [line.count("|") for line in lines] == [len(header) + 1] * 3
    names = ["expert of CartPole-v1", "random of CartPole-v1"]
    assert [item[0] for item in references] == names
    assert references[0][2] == "1.00"
    assert 0 < float(references[1][2]) < 0.2


def test_a_table_is_never_cut_short():
    """Not even in a narrow window: names are there to be typed, numbers to be read."""
    out = io.StringIO()
    rows = [("cell", "score"), ("a-cell-with-a-long-name", "1.05 [1.04, 1.06]")]
    print_table(Console(file=out, width=20), rows)
    lines = out.getvalue().splitlines()
    assert any("a-cell-with-a-long-name" in x and "1.05 [1.04, 1.06]" in x for x in lines)


def test_a_row_that_other_settings_made_is_marked(ran):
    cell, folder = ran
    other = replace(cell, spec=replace(cell.spec, changes=(*cell.spec.changes, "weight=0.5")))
    results = folder / "results"
    fresh, stale = (sweep_rows("sweep", [item], results) for item in (cell, other))
    assert fresh[1][0] == "tiny"
    assert stale_note("sweep", [cell], results) is None
    assert stale[1][0] == "tiny*"
    assert stale[1][1:] == fresh[1][1:]
    assert "settings existed: weight. To compare, run the cell again" in stale_note(
        "sweep", [other], results
    )
    kept = read_results(results, "sweep", cell)
    for record in kept:
        del record["settings"]["policy"]["width"]  # as if the setting had come later
        del record["settings"]["discriminator"]["ridge"]  # as this one did, switched off
        record["settings"]["planner"]["shortening"] = 0.8  # a setting that is a constant now
    assert changed(cell, kept) == {"policy.width"}
    for record in kept:
        record["settings"]["planner"]["shortening"] = 0.5
    assert changed(cell, kept) == {"policy.width", "planner.shortening"}


def test_settings_for_box_actions_do_not_mark_a_row_with_discrete_ones(ran):
    cell, folder = ran  # CartPole
    kept = read_results(folder / "results", "sweep", cell)
    for record in kept:
        del record["settings"]["policy"]["log_std_max"]
    assert not changed(cell, kept)
    pendulum = replace(cell.spec, env="Pendulum-v1", horizon=None)
    assert "policy.log_std_max" in changed(replace(cell, spec=pendulum), kept)


def test_a_row_with_another_budget_or_other_demonstrations_is_marked(ran):
    cell, folder = ran
    kept = read_results(folder / "results", "sweep", cell)
    budget = lambda samples: replace(cell, spec=replace(cell.spec, total_timesteps=samples))
    assert not changed(cell, kept)
    assert not changed(budget(3 * STEP - 1), kept)  # ends with the same whole iteration
    assert changed(budget(3 * STEP), kept) == {"total_timesteps"}
    assert changed(budget(2 * STEP - 1), kept) == {"total_timesteps"}
    bundled = Cell("tiny", RunSpec(task="cartpole"))
    assert "trajectories" in changed(bundled, kept)  # ten of them; these results saw two
    two = replace(bundled, spec=replace(bundled.spec, trajectories=2))
    assert "trajectories" not in changed(two, kept)


def test_the_table_shows_the_worst_seed_beside_the_expert():
    """Of the committed results: MountainCar in at most 1.25 times the expert's steps."""
    cells = [cell for cell in find_sweep("endings") if cell.name == "goal"]
    _, row, *_ = sweep_rows("endings", cells, Path(__file__).parents[2] / "results")
    worst, expert = map(float, row[-2:])
    assert 100 < expert < worst <= 1.25 * expert


def test_interval_covers_the_mean_of_known_values():
    assert interval([2.0, 2.0, 2.0]) == (2.0, 2.0)
    values = np.random.default_rng(1).normal(size=400)
    low, high = interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_a_seed_that_a_cell_does_not_have_is_refused(ran):
    cell, folder = ran
    with pytest.raises(ValueError, match=r"tiny has no seed 9; its seeds are \[0, 1"):
        run_seed("sweep", cell, 9, folder / "results", folder / "runs", MACHINE)


def test_unknown_cells_are_named():
    with pytest.raises(ValueError, match=r"unknown cell 'none'.*cartpole"):
        find_cells("endings", ["none"])
    assert [cell.name for cell in find_cells("endings", ["goal"])] == ["goal"]
    assert find_cells("endings", []) == list(find_sweep("endings"))


def test_unknown_sweep_is_named():
    with pytest.raises(ValueError, match=r"unknown sweep 'none'.*ablations"):
        find_sweep("none")


@pytest.mark.parametrize("name", SWEEPS)
def test_cells_have_names_of_their_own(name):
    cells = find_sweep(name)
    assert len({cell.name for cell in cells}) == len(cells)


def test_the_six_tasks_have_every_variant_and_a_curve():
    cells = find_sweep("tasks")
    seeds = {cell.name: cell.spec.seeds for cell in cells}
    few = lambda task: 1 if task == "walker2d" else 2
    expected = {f"{task}{kind}": 10 for kind in ("", "-none", "-no-bonus") for task in TASKS}
    expected |= {f"{task}-paper": 5 if task in CHEAP else few(task) for task in TASKS}
    expected |= {f"{task}-authors": few(task) for task in TASKS}
    assert list(seeds.items()) == list(expected.items())
    for cell in cells:
        settings = cell.spec.settings()
        iterations = cell.spec.budget // (settings.streams * find_task(cell.spec.task).horizon)
        assert iterations >= 5 * cell.every
        tuned_on = range(100, 200)
        if settings.inference is not None:
            assert not set(cell.seeds) & (set(range(10)) | set(tuned_on))


def test_methods_of_a_kind_have_equal_budgets():
    """Those that infer actions, and those that match distributions; all the same demonstrations."""
    specs = {cell.name: cell.spec for cell in find_sweep("methods")}
    for task in TASKS:
        mobile, bco = specs[task], specs[f"{task}-bco"]
        assert (mobile.method, mobile.preset, mobile.changes) == ("mobile", "default", ())
        for name in ("task", "trajectories", "budget", "seeds", "first_seed"):
            assert getattr(bco, name) == getattr(mobile, name)
        matching = [specs[f"{task}-{method}"] for method in ("gail", "gaifo", "constant")]
        assert len({each.budget for each in matching}) == 1
        assert matching[0].budget >= specs[f"{task}-none"].budget
        assert specs[f"{task}-bc"].budget is None
        for each in matching:
            assert (each.task, each.trajectories) == (task, mobile.trajectories)


def test_stock_tasks_have_every_method_and_the_recordings_they_need():
    assert "Hopper-v5" in recorded_environments()
    assert len(find_sweep("stock")) == sum(map(len, map(cells_of, recorded_environments())))
    cells = {cell.name.removeprefix("Hopper-v5-"): cell for cell in cells_of("Hopper-v5")}
    for name, cell in cells.items():
        demonstrations = cell.record()
        assert demonstrations.count() == (1 if name.startswith("1-") or name == "1" else 10)
        assert demonstrations.metadata["greedy"] == name.startswith("greedy")
        assert demonstrations.has_actions == (name == "bc")
        assert cell.seeds == range(10, 13 if name.partition("-")[0] in ("bc", "dacfo") else 15)
    assert {cell.spec.budget for name, cell in cells.items() if name != "dacfo-long"} == {
        100_000,
        None,
    }
    assert not any("greedy" in cell.name for cell in cells_of("Ant-v5"))


def test_the_sweep_of_methods_reads_mobile_where_the_sweep_of_tasks_keeps_it(tmp_path):
    """So that nothing is run twice."""
    cell = next(cell for cell in find_sweep("methods") if cell.name == "hopper")
    assert result_file(tmp_path, "methods", cell, 3) == tmp_path / "tasks" / "hopper-3.json"


def test_scripted_experts_do_what_they_are_for():
    """The cart is held near x = 1 for whole episodes; the car always reaches its goal."""
    hold = record_hold()
    assert (hold.lengths == 500).all()
    assert not any(trajectory.terminal for trajectory in hold)
    offsets = [np.abs(item.states[len(item.states) // 2 :, 0] - 1).mean() for item in hold]
    assert max(offsets) < 0.2
    goal = record_goal()
    assert all(trajectory.terminal for trajectory in goal)
    assert goal.lengths.max() < 140
    assert min(trajectory.states[-1, 0] for trajectory in goal) >= 0.5


def test_place_error_looks_at_the_second_half():
    x = np.array([9.0, 9.0, 1.5, 0.5])
    states = np.stack([x, x, x, x], axis=1)
    assert place_error(states) == pytest.approx(0.5)
    assert steps_taken(states) == 3
