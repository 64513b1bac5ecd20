"""Reading result files: scores of chosen policies, learning curves, and stale settings."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ilfo.agents.registry import FUNCTIONS
from ilfo.common.printable import brief
from ilfo.environments.factory import factory
from ilfo.environments.tasks import find_task
from ilfo.experiments.cell import Cell
from ilfo.experiments.runner import result_files
from ilfo.rollouts.scores import score
from ilfo.storage import config
from ilfo.storage.renamed import up_to_date

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
BOX_ONLY = {
    "inference.noise_prior",
    "inference.quieter",
    "policy.log_std_max",
    "policy.log_std_min",
    "policy.state_noise",
}
"""Settings that say nothing where actions are discrete."""
STALE = "*"
"""Marks the name of a cell whose results were recorded with other settings than it has now."""


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


def marked(cell: Cell, records: Sequence[dict[str, Any]]) -> str:
    """The cell's name, with a mark if its results are stale."""
    return cell.name + (STALE if changed(cell, records) else "")


def changed(cell: Cell, records: Sequence[dict[str, Any]]) -> set[str]:
    """Names of settings in which the cell differs from any of its results, including the budget and
    the number of demonstrations. A setting that is missing in a result counts unless it is None
    now, since it is unknown which value it stood for. Where actions are discrete, settings for Box
    actions do not count."""
    now = json.loads(json.dumps(config.to_dict(cell.spec.settings(), FUNCTIONS)))
    names = {
        name for record in records for name in _differing(up_to_date(record["settings"]), now, "")
    }
    if names & BOX_ONLY and _acts_discretely(cell.spec.environment(), cell.spec.horizon):
        names -= BOX_ONLY
    if any(_other_budget(cell, record) for record in records):
        names.add("total_timesteps")
    if any(other_demonstrations(cell, record) for record in records):
        names.add("trajectories")
    return names


@cache
def _acts_discretely(environment: str, horizon: int | None) -> bool:
    return not isinstance(factory(environment, horizon).action_space, gym.spaces.Box)


def _other_budget(cell: Cell, result: dict[str, Any]) -> bool:
    """Whether the budget differs; a run ends with the last whole iteration within its budget."""
    budget, iterations = cell.spec.budget, len(result["curve"])
    if budget is None or not iterations:
        return False
    taken = result["summary"]["online_samples"]
    return not taken <= budget < taken + taken / iterations


def other_demonstrations(cell: Cell, result: dict[str, Any]) -> bool:
    """Whether it was measured with another number of demonstrations than the cell has."""
    spec = cell.spec
    if cell.record is not None or spec.demos is not None:
        return False
    wanted = spec.trajectories or find_task(str(spec.task)).demonstrations
    return result["summary"]["demonstrations"]["trajectories"] != wanted


def _differing(before: Any, now: Any, where: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            here = f"{where}.{name}" if where else name
            yield from _differing(before.get(name, _ABSENT), now.get(name, _ABSENT), here)
    elif before != now and (before, now) != (_ABSENT, None):
        yield where


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
