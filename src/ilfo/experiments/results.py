"""Reading result files: scores of chosen policies and learning curves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.printable import brief
from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import result_files
from ilfo.rollouts.scores import score

_ABSENT = object()
LARGEST = 1e300
"""Above this, sums and differences of numbers may not be finite."""


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and -LARGEST < value < LARGEST


def _known_number(value: Any) -> bool:
    return value is None or _number(value)


def _known_if_there(value: Any) -> bool:
    return value is _ABSENT or _known_number(value)


def _numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_known_number, value.values()))


def _scores(value: Any) -> bool:
    if not isinstance(value, dict) or not all(
        _known_number(value.get(name, "")) for name in SCORES
    ):
        return False
    named = ("rule", "alternatives")
    return _numbers({name: entry for name, entry in value.items() if name not in named})


def _result(value: Any) -> bool:
    if not _scores(value):
        return False
    others = value.get("alternatives", [])
    return isinstance(others, list) and all(
        _scores(other) and isinstance(other.get("rule"), str) for other in others
    )


SCORES = ("greedy_return", "stochastic_return", "greedy_score", "stochastic_score")
PARTS: dict[str, Callable[[Any], bool]] = {
    "settings": _is(dict),
    "summary.env": _is(str),
    "summary.online_samples": _number,
    "summary.demonstrations.trajectories": _number,
    "summary.expert_return": _known_number,
    "summary.random_return": _known_number,
    "summary.seconds.collect": _number,
    "summary.seconds.improve": _number,
    "summary.seconds.save": _number,
    "summary.seconds.total": _number,
    "peak_memory": _known_if_there,
    "result": _result,
    "curve": _is(list),
}
"""What every result has, by dotted names; old ones do not have all that may be absent."""
ROW: dict[str, Callable[[Any], bool]] = {
    "iteration": _number,
    "online_samples": _number,
    "greedy_return": _known_number,
    "stochastic_return": _known_number,
}
"""What every row of its curve has, beside other numbers."""


def read_results(results: Path, sweep: str, cell: Cell) -> list[dict[str, Any]]:
    """The results of every seed of the cell that is done."""
    files = result_files(results, sweep, cell)
    return [_read(path) for path in files if path.exists()]


def _read(path: Path) -> dict[str, Any]:
    restore = "restore it, or remove it and run its seed again"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON: {brief(error)}; {restore}") from error
    wrong = [name for name, fits in PARTS.items() if not fits(_part(record, name))]
    if not wrong:
        rows = enumerate(record["curve"])
        wrong = [
            f"{name} in row {number} of curve"
            for number, row in rows
            for name, fits in ROW.items()
            if not fits(_part(row, name)) or not _numbers(row)
        ]
    if wrong:
        raise ValueError(f"{path} is not the result of a seed: {wrong[0]} is wrong; {restore}")
    return record


def _part(record: Any, name: str) -> Any:
    for key in name.split("."):
        record = record.get(key, _ABSENT) if isinstance(record, dict) else _ABSENT
    return record


def score_curve(
    result: dict[str, Any], name: str = "greedy_return", over: str = "online_samples"
) -> np.ndarray:
    """(n, 2): environment steps, or `seconds` of training, and score, at the iterations where the
    return was evaluated."""
    summary = result["summary"]
    scale = (summary["expert_return"], summary["random_return"])
    points = [
        (row[over], score(row[name], *scale)) for row in result["curve"] if row[name] is not None
    ]
    return np.array(points, float).reshape(-1, 2)


def best_by_reward(result: dict[str, Any]) -> float | None:
    """Score of the best policy by true return, as the paper selects it; a user without a reward
    cannot. The candidates are the points of the curve and the policy that was chosen without the
    reward."""
    curve = score_curve(result)
    return max(*curve[:, 1].tolist(), result["result"]["greedy_score"]) if len(curve) else None


def area(result: dict[str, Any]) -> float:
    """Mean score of the learning curve over the budget."""
    samples, scores = score_curve(result).T
    return float(np.trapezoid(scores, samples) / (samples[-1] - samples[0]))
