"""Models that are learned from the agent's own steps, and what MobILE derives from them.

Forward models P̂(s'|s, a) with an uncertainty: `EnsembleDynamics`, `KNRDynamics`, `GPDynamics`,
`TabularDynamics` and `FiniteDynamics`. Beside them stand the exploration bonuses, the rules for the
end of an imagined episode, and the inverse and latent-action models of BC-O and ILPO. A forward
model of your own derives from `AbstractDynamics` (its hyper-parameters) and `AbstractModel` (what
is fitted).
"""

from ilfo.dynamics.base import (
    AbstractDynamics,
    AbstractModel,
    Calibrated,
    CalibratedDynamics,
    gaussian_l1,
)
from ilfo.dynamics.bonus import (
    AbstractBonus,
    BufferNormalised,
    CalibratedBonus,
    FittedBonus,
    NoBonus,
)
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.features import (
    AbstractFeatures,
    FittedFeatures,
    OneHot,
    Polynomial,
    RandomFourier,
)
from ilfo.dynamics.finite import FiniteDynamics
from ilfo.dynamics.gp import GPDynamics
from ilfo.dynamics.inverse import InverseDynamics, InverseEnsemble
from ilfo.dynamics.knr import KNRDynamics
from ilfo.dynamics.latent import LatentDynamics
from ilfo.dynamics.tabular import TabularDynamics
from ilfo.dynamics.termination import (
    AbstractRule,
    AbstractTermination,
    KnownTermination,
    LearnedTermination,
    NoTermination,
)

__all__ = [
    "AbstractBonus",
    "AbstractDynamics",
    "AbstractFeatures",
    "AbstractModel",
    "AbstractRule",
    "AbstractTermination",
    "BufferNormalised",
    "Calibrated",
    "CalibratedBonus",
    "CalibratedDynamics",
    "EnsembleDynamics",
    "FiniteDynamics",
    "FittedBonus",
    "FittedFeatures",
    "GPDynamics",
    "InverseDynamics",
    "InverseEnsemble",
    "KNRDynamics",
    "KnownTermination",
    "LatentDynamics",
    "LearnedTermination",
    "NoBonus",
    "NoTermination",
    "OneHot",
    "Polynomial",
    "RandomFourier",
    "TabularDynamics",
    "gaussian_l1",
]
