"""Whether the MMDs of groups of runs are one measure, or cannot be compared.

An MMD depends on the discriminator that measures it, on the recordings it is the distance to, and
on how many rollouts its estimate is of. MobILE pools those of the last iterations.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from ilfo.methods import METHODS
from ilfo.reports.groups import Group

RECORDINGS = ("task", "demos", "trajectories", "every", "observe", "clips")
"""Fields of a spec that say what the distance is to."""


def differences(groups: Sequence[Group]) -> list[str]:
    """Why the MMDs of groups in one environment cannot be compared; nothing if they can."""
    measured = [group for group in groups if group.curves("mmd")]
    pooled = [group for group in measured if _pools(group)]
    found = []
    if pooled and len(pooled) < len(measured):
        method = pooled[0].runs[0].spec.method
        found.append(f"{method} pools the rollouts of several iterations, the others do not")
    for what, of in MEASURES.items():
        if len({json.dumps(of(group), sort_keys=True) for group in measured}) > 1:
            found.append(f"{what} differ")
    return found


def mmd_note(groups: Sequence[Group]) -> str | None:
    """A line below a table of groups whose MMDs cannot be compared; None if they can."""
    environments = dict.fromkeys(group.environment for group in groups)
    found = [
        reason
        for environment in environments
        for reason in differences([g for g in groups if g.environment == environment])
    ]
    if not found:
        return None
    reasons = "; ".join(dict.fromkeys(found))
    return (
        f"These MMDs are not one measure ({reasons}): compare each with its own floor, and methods "
        "and settings by their scores."
    )


def _pools(group: Group) -> bool:
    settings = _settings(group)
    known = bool(settings.get("floor")) or settings.get("inference") is not None
    return group.runs[0].spec.method == "mobile" and known


def _discriminator(group: Group) -> Any:
    """The settings of what measures the distance."""
    field = METHODS[group.runs[0].spec.method].method.discriminator
    return None if field is None else _settings(group).get(field)


def _settings(group: Group) -> dict[str, Any]:
    return dict(group.runs[0].run.config.get("settings", {}))


def _recordings(group: Group) -> list[Any]:
    return [getattr(group.runs[0].spec, name) for name in RECORDINGS]


MEASURES: dict[str, Callable[[Group], Any]] = {
    "settings of the discriminator": _discriminator,
    "numbers of rollouts per iteration (streams)": lambda group: _settings(group).get("streams"),
    "recordings": _recordings,
}
"""What has to be the same, and how it is read."""
