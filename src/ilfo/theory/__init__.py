"""Studies that check the paper's theory on small problems, and the problems themselves.

`ilfo theory NAME` runs a study of `ilfo.theory.studies`: regret of exploration, imitation with and
without actions, tabular MobILE, calibration of uncertainties, MobILE with a KNR. The other modules
hold what they measure on: bandits, finite MDPs with exact solutions, a combination lock, and a
pendulum. Names are imported on first use, so that `import ilfo.theory` is cheap.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

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

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Actions": "studies.actions",
        "Calibration": "studies.calibration",
        "Explore": "studies.explore",
        "FiniteMDP": "mdp",
        "KNRStudy": "studies.knr",
        "Lock": "lock",
        "Matching": "matching",
        "Study": "studies.base",
        "TabularStudy": "studies.tabular",
        "combination_lock": "lock",
        "linear_programme": "matching",
        "occupancy": "mdp",
    },
)
