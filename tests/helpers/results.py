"""Result files of the runner, with what a test does not care about filled in."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilfo.experiments.runner import find_cells, result_file

SCORES = ("greedy_return", "stochastic_return", "greedy_score", "stochastic_score")
ROW = {"online_samples": 0, "greedy_return": None, "stochastic_return": None}
RESULT: dict[str, Any] = {
    "settings": {},
    "summary": {
        "env": "CartPole-v1",
        "online_samples": 0,
        "demonstrations": {"trajectories": 10},
        "expert_return": None,
        "random_return": None,
        "seconds": {"collect": 0.0, "improve": 0.0, "save": 0.0, "total": 0.0},
    },
    "result": dict.fromkeys(SCORES),
}


def as_result(record: Mapping[str, Any]) -> str:
    """The text of a result file that has these parts."""
    curve = [{"iteration": at + 1} | ROW | row for at, row in enumerate(record.get("curve", ()))]
    return json.dumps(_filled(RESULT, record) | {"curve": curve})


def _filled(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    inner = {
        name: _filled(base[name], value)
        for name, value in given.items()
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping)
    }
    return {**base, **given, **inner}


def write_exploration(
    results: Path,
    name: str,
    height: float,
    seeds: int = 6,
    visits: Any = None,
    settings: Mapping[str, Any] | None = None,
    taken: int = 20,
) -> None:
    """Results of a cell of the exploration suite with made-up curves about this high."""
    (cell,) = find_cells("exploration", [name])
    for seed in cell.seeds[:seeds]:
        steps = (taken // 2, taken)
        curve = [
            {"online_samples": step, "greedy_return": height + 0.01 * seed, "seconds": 0.1 * step}
            for step in steps
        ]
        record = {
            "settings": settings or {},
            "commit": "0123456789abcdef",
            "summary": {"expert_return": 1.0, "random_return": 0.0, "online_samples": taken},
            "result": {"seed": seed, "greedy_score": height},
            "curve": curve,
        } | ({} if visits is None else {"visits": visits})
        path = result_file(results, "exploration", cell, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_result(record))
