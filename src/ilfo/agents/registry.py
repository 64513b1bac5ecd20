"""The parts that a saved configuration may name, and the functions that it may refer to.

Loading looks names up here and nowhere else: a file cannot make the package import anything.
"""

from collections.abc import Callable
from typing import Any

from ilfo.agents.problem import Problem
from ilfo.common.fitting import SGD, Adam, Passes
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.discriminators.classifier import Classifier
from ilfo.discriminators.constant import ConstantCost
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.bonus import BufferNormalised, CalibratedBonus, NoBonus
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.features import OneHot, Polynomial, RandomFourier
from ilfo.dynamics.finite import FiniteDynamics
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.inverse import InverseDynamics
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.latent import LatentDynamics
from ilfo.dynamics.tabular import TabularDynamics
from ilfo.dynamics.termination import KnownTermination, LearnedTermination, NoTermination
from ilfo.environments.tasks import TASKS
from ilfo.planners.critic import GAECritic
from ilfo.planners.ppo import PPO
from ilfo.planners.trpo import TRPO
from ilfo.policies.cloning import Cloning
from ilfo.policies.mlp import MLPPolicy

COMPONENTS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        EnsembleDynamics,
        KNRDynamics,
        GPDynamics,
        TabularDynamics,
        FiniteDynamics,
        RandomFourier,
        Polynomial,
        OneHot,
        KnownTermination,
        LearnedTermination,
        NoTermination,
        BufferNormalised,
        CalibratedBonus,
        NoBonus,
        MMD,
        ConstantCost,
        TRPO,
        PPO,
        GAECritic,
        MLPPolicy,
        SGD,
        Adam,
        Passes,
        Cloning,
        InverseDynamics,
        LatentDynamics,
        Classifier,
        Problem,
        BoxActions,
        DiscreteActions,
    )
}

DYNAMICS: dict[str, type[Any]] = {
    "ensemble": EnsembleDynamics,
    "knr": KNRDynamics,
    "gp": GPDynamics,
    "tabular": TabularDynamics,
}
"""Short names for the command line, of those that need nothing but their defaults."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{task.name}.terminal": task.terminal for task in TASKS.values()
}
