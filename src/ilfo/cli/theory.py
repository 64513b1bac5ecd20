"""`ilfo theory`: the studies by their names on the command line."""

from ilfo.theory.studies.actions import Actions
from ilfo.theory.studies.base import Study
from ilfo.theory.studies.calibration import Calibration
from ilfo.theory.studies.explore import Explore
from ilfo.theory.studies.knr import KNRStudy
from ilfo.theory.studies.tabular import TabularStudy

COMMANDS: dict[str, type[Study]] = {
    "explore": Explore,
    "actions": Actions,
    "tabular": TabularStudy,
    "calibration": Calibration,
    "knr": KNRStudy,
}
