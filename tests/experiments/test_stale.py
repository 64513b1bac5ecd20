"""Which settings mark a result that was measured before them."""

import json
from typing import Any

import pytest

from ilfo.agents.registry import FUNCTIONS
from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import find_cells
from ilfo.experiments.stale import changed
from ilfo.storage import config


def before(cell: Cell, part: str, name: str, value: Any) -> dict[str, Any]:
    """A result of the cell whose settings had another value."""
    settings = json.loads(json.dumps(config.to_dict(cell.spec.settings(), FUNCTIONS)))
    settings[part][name] = value
    trajectories = {"trajectories": 10}
    return {"settings": settings, "curve": [], "summary": {"demonstrations": trajectories}}


@pytest.mark.parametrize(
    ("sweep", "name", "part", "setting", "value", "marks"),
    [
        ("conditions", "reacher-every4", "inference", "held", False, True),
        ("conditions", "reacher-recorded", "inference", "held", False, False),
        ("conditions", "hopper-recorded", "inference", "quieter_times", 2, True),
        ("conditions", "reacher-recorded", "inference", "quieter_times", 2, False),
        ("tasks", "cartpole-stochastic", "dynamics", "stochastic", False, True),
        ("tasks", "reacher", "dynamics", "stochastic", False, False),
        ("tasks", "reacher", "dynamics", "stochastic", True, True),
        ("exploration", "maze", "dynamics", "stochastic", False, True),
    ],
)
def test_a_setting_marks_results_only_where_it_says_something(
    sweep, name, part, setting, value, marks
):
    (cell,) = find_cells(sweep, [name])
    names = changed(cell, [before(cell, part, setting, value)])
    assert (f"{part}.{setting}" in names) is marks
