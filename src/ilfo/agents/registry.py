"""The components that a saved configuration may name, and the functions it may refer to.

Loading looks names up here and nowhere else: a file cannot make the package import anything. A
component that its room exports in `__all__` is here by itself.
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from ilfo import common, discriminators, dynamics, planners
from ilfo.agents.problem import Observed, Problem
from ilfo.common.fitting import AbstractOptimiser, Passes
from ilfo.common.spaces import BoxActions, DiscreteActions, MultiDiscreteActions
from ilfo.discriminators import AbstractDiscriminator, Classifier
from ilfo.dynamics import (
    AbstractBonus,
    AbstractDynamics,
    AbstractFeatures,
    AbstractTermination,
    InverseDynamics,
    InverseEnsemble,
    LatentDynamics,
)
from ilfo.environments.tasks import TASKS
from ilfo.planners import AbstractPlanner, GAECritic
from ilfo.policies import Cloning, MLPPolicy

ROOMS = (common, dynamics, discriminators, planners)
INTERFACES = (
    AbstractDynamics,
    AbstractTermination,
    AbstractBonus,
    AbstractFeatures,
    AbstractDiscriminator,
    AbstractPlanner,
    AbstractOptimiser,
)
"""What has several implementations; a room exports each of them."""
PARTS: tuple[type, ...] = (
    MLPPolicy,
    Cloning,
    InverseDynamics,
    InverseEnsemble,
    LatentDynamics,
    Classifier,
    GAECritic,
    Passes,
    Problem,
    Observed,
    BoxActions,
    DiscreteActions,
    MultiDiscreteActions,
)
"""What has only one."""


def _implementations(interfaces: tuple[type, ...]) -> dict[str, type[Any]]:
    exported = [getattr(room, name) for room in ROOMS for name in room.__all__]
    return {
        kind.__name__: kind
        for kind in exported
        if inspect.isclass(kind) and issubclass(kind, interfaces) and not inspect.isabstract(kind)
    }


COMPONENTS: dict[str, type[Any]] = _implementations(INTERFACES) | {
    kind.__name__: kind for kind in PARTS
}


def _has_defaults(kind: type[Any]) -> bool:
    missing = dataclasses.MISSING
    return all(
        field.default is not missing or field.default_factory is not missing
        for field in dataclasses.fields(kind)
    )


DYNAMICS: dict[str, type[Any]] = {
    name.removesuffix("Dynamics").lower(): kind
    for name, kind in _implementations((AbstractDynamics,)).items()
    if _has_defaults(kind)
}
"""Short names for the command line, of those that need nothing but their defaults."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{task.name}.terminal": task.terminal for task in TASKS.values()
}
