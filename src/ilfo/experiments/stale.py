"""Which results were measured with other settings than their cells have now."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import gymnasium as gym

from ilfo.agents.registry import FUNCTIONS
from ilfo.environments.factory import factory
from ilfo.environments.tasks import find_task
from ilfo.experiments.cell import Cell
from ilfo.storage import config
from ilfo.storage.renamed import up_to_date

_ABSENT = object()
BOX_ONLY = {
    "inference.noise_prior",
    "inference.quieter",
    "inference.quieter_times",
    "policy.log_std_max",
    "policy.log_std_min",
    "policy.state_noise",
}
"""Settings that say nothing where actions are discrete."""
SPARSE_ONLY = {"inference.held"}
"""Settings that say nothing where demonstrations hold every state."""
NOISE = "dynamics.stochastic"
NOISELESS = {
    "CartPole-v1",
    "ilfo/Reacher-v0",
    "ilfo/Swimmer-v0",
    "ilfo/Walker2d-v0",
}
"""Environments whose iterations so far had no noise by the default's rule, so that it does what a
model without noise does (docs/research-log.md)."""
STALE = "*"
"""Marks the name of a cell whose results were recorded with other settings than it has now."""


def marked(cell: Cell, records: Sequence[dict[str, Any]]) -> str:
    """The cell's name, with a mark if its results are stale."""
    return cell.name + (STALE if changed(cell, records) else "")


def changed(cell: Cell, records: Sequence[dict[str, Any]]) -> set[str]:
    """Names of settings in which the cell differs from any of its results, including the budget and
    the number of demonstrations. A setting that is missing in a result counts unless it is None
    now, since it is unknown which value it stood for. Where actions are discrete, settings for Box
    actions do not count, and where demonstrations hold every state those for sparse ones; nor does
    it count whether a model without noise was asked for or follows from data, where it does."""
    now = json.loads(json.dumps(config.to_dict(cell.spec.settings(), FUNCTIONS)))
    before = [up_to_date(record["settings"]) for record in records]
    names = {name for settings in before for name in _differing(settings, now, "")}
    if names & SPARSE_ONLY and _every(cell) == 1:
        names -= SPARSE_ONLY
    if names & BOX_ONLY and _acts_discretely(cell.spec.environment(), cell.spec.horizon):
        names -= BOX_ONLY
    asked = NOISE in names and any(_asks_for_noise(settings) for settings in (now, *before))
    if cell.spec.environment() in NOISELESS and not asked:
        names.discard(NOISE)
    if any(_other_budget(cell, record) for record in records):
        names.add("total_timesteps")
    if any(other_demonstrations(cell, record) for record in records):
        names.add("trajectories")
    return names


def _asks_for_noise(settings: dict[str, Any]) -> bool:
    part, name = NOISE.split(".")
    return settings[part].get(name) is True


@cache
def _every(cell: Cell) -> int | None:
    """Control steps between two demonstrated states; None if only a file knows it."""
    if cell.spec.every is not None or cell.spec.demos is not None:
        return cell.spec.every
    return 1 if cell.record is None else cell.record().every


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
