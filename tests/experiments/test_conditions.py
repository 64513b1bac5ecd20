"""The sweep over recordings and bodies: its cells, its table, its picture."""

import pytest

from ilfo.agents.registry import FUNCTIONS
from ilfo.environments.tasks import find_task
from ilfo.experiments.conditions import (
    condition_row,
    condition_rows,
    distance_in_floors,
    draw_conditions,
)
from ilfo.experiments.runner import find_cells, result_file
from ilfo.experiments.sweeps.conditions import (
    BUDGET,
    CELLS,
    CONDITIONS,
    METHODS,
    ON,
    POSITIONS,
    cell_name,
    methods_of,
    possible,
    recordings,
)
from ilfo.storage import config
from tests.helpers.results import as_result


def test_every_condition_has_every_method_that_can():
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names)
    assert len(names) == 2 * (9 * 4 - 1) + 4 * 4 - 1 + 8 + 4
    assert "hopper-positions-gaifo" in names
    assert "hopper-positions-bco" not in names
    assert not possible("hopper", "positions", "bco")
    assert "hopper-positions-dacfo" in names
    assert "hopper-discrete-dacfo" not in names
    assert methods_of("hopper") == tuple(METHODS)
    assert "dacfo" not in methods_of("reacher")
    for cell in CELLS:
        assert cell.spec.total_timesteps == BUDGET[cell.spec.task]
        assert list(cell.seeds) == [10, 11, 12, 13, 14][: 3 if "walker2d" in cell.name else 5]


@pytest.mark.parametrize("task", ["hopper", "reacher"])
def test_recordings_are_what_the_condition_says(task):
    whole = find_task(task).load()
    made = {name: recordings(task, name) for name in CONDITIONS}
    assert [made[name].every for name in ("recorded", "every4", "every8")] == [1, 4, 8]
    assert made["positions"].observed == tuple(POSITIONS[task])
    assert made["noise"].metadata["noise"] == 0.2
    assert made["one"].count() == 1
    assert made["clips"].count() == 20
    assert set(made["clips"].lengths) == {19}
    for name in ("recorded", "body", "discrete"):
        assert made[name].count() == whole.count()
        assert not made[name].has_actions


def test_bodies_are_the_learners():
    options = {cell.name: cell.spec.environment() for cell in CELLS}
    assert options["hopper-body"] == "ilfo/Hopper-v0,mass=1.3,motors=0.8"
    assert options["hopper-discrete"] == "ilfo/Hopper-v0,bins=5"
    assert options["reacher-discrete-gaifo"] == "ilfo/Reacher-v0,bins=3"
    assert options["walker2d-every4"] == "ilfo/Walker2d-v0"


def write(results, name, scores, mmd, floor):
    cell = find_cells("conditions", [name])[0]
    for seed, score in zip(cell.seeds, scores, strict=False):
        path = result_file(results, "conditions", cell, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        row = {"mmd": mmd, "mmd_floor": floor}
        record = {
            "settings": config.to_dict(cell.spec.settings(), FUNCTIONS),
            "summary": {
                "online_samples": cell.spec.budget,
                "demonstrations": {"trajectories": cell.spec.trajectories or 10},
            },
            "curve": [{"mmd": 9.0, "mmd_floor": floor}] * 15 + [row] * 5,
            "result": {"greedy_score": score},
        }
        path.write_text(as_result(record))


def test_a_row_has_scores_and_distances(tmp_path):
    write(tmp_path, "hopper-every4", [0.9, 1.0, 0.8, 1.0, 0.8], mmd=0.3, floor=0.2)
    write(tmp_path, "hopper-every4-bco", [0.1, 0.2], mmd=0.8, floor=0.2)
    row = condition_row("hopper", "every4", tmp_path)
    assert row[0] == "every 4th state"
    assert row[1].startswith("0.90 [0.8")
    assert row[2:] == ("1.5", "–", "–", "0.15 (2 of 5 seeds)", "4.0", *"––––")
    positions = condition_row("hopper", "positions", tmp_path)
    assert positions[1:] == ("–", "–", "–", "–", "cannot", "–", *"––––")
    assert len(condition_row("reacher", "recorded", tmp_path)) == 1 + 2 * 4
    assert len(condition_rows("walker2d", tmp_path)) == 1 + len(ON["walker2d"])


def test_one_demonstration_tells_no_floor(tmp_path):
    write(tmp_path, "hopper-one", [0.5] * 5, mmd=0.3, floor=0.0)
    assert condition_row("hopper", "one", tmp_path)[1:3] == ("0.50 [0.50, 0.50]", "–")
    assert distance_in_floors({"curve": [{"mmd": 0.3}]}) is None


def test_the_picture(tmp_path):
    with pytest.raises(ValueError, match="no results yet"):
        draw_conditions(tmp_path, tmp_path / "picture.png")
    write(tmp_path, cell_name("reacher", "clips", "gaifo"), [0.5] * 5, mmd=0.3, floor=0.1)
    path = draw_conditions(tmp_path, tmp_path / "new" / "picture.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileExistsError):
        draw_conditions(tmp_path, path)
