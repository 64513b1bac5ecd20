"""Studies that check the paper's theory on small problems, and the problems themselves.

`ilfo theory NAME` runs a study of `ilfo.theory.studies`: regret of exploration, imitation with and
without actions, tabular MobILE, calibration of uncertainties, MobILE with a KNR. The other modules
hold what they measure on: bandits, finite MDPs with exact solutions, a combination lock, and a
pendulum. Names are imported on first use, so that `import ilfo.theory` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilfo.theory.lock import Lock, combination_lock
    from ilfo.theory.matching import Matching, linear_programme
    from ilfo.theory.mdp import FiniteMDP, occupancy
    from ilfo.theory.studies.actions import Actions
    from ilfo.theory.studies.base import Study
    from ilfo.theory.studies.calibration import Calibration
    from ilfo.theory.studies.explore import Explore
    from ilfo.theory.studies.knr import KNRStudy
    from ilfo.theory.studies.tabular import TabularStudy

__all__ = [
    "Actions",
    "Calibration",
    "Explore",
    "FiniteMDP",
    "KNRStudy",
    "Lock",
    "Matching",
    "Study",
    "TabularStudy",
    "combination_lock",
    "linear_programme",
    "occupancy",
]

_MODULES = {
    "Actions": "ilfo.theory.studies.actions",
    "Calibration": "ilfo.theory.studies.calibration",
    "Explore": "ilfo.theory.studies.explore",
    "FiniteMDP": "ilfo.theory.mdp",
    "KNRStudy": "ilfo.theory.studies.knr",
    "Lock": "ilfo.theory.lock",
    "Matching": "ilfo.theory.matching",
    "Study": "ilfo.theory.studies.base",
    "TabularStudy": "ilfo.theory.studies.tabular",
    "combination_lock": "ilfo.theory.lock",
    "linear_programme": "ilfo.theory.matching",
    "occupancy": "ilfo.theory.mdp",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
