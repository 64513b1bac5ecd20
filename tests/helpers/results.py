"""Result files of the runner, with what a test does not care about filled in."""

import json
from collections.abc import Mapping
from typing import Any

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
