"""The studies of `ilfo theory`."""

from ilfo.theory.studies.actions import Actions
from ilfo.theory.studies.base import Study
from ilfo.theory.studies.calibration import Calibration
from ilfo.theory.studies.explore import Explore
from ilfo.theory.studies.knr import KNRStudy
from ilfo.theory.studies.tabular import TabularStudy

STUDIES: dict[str, type[Study]] = {
    study.name: study for study in (Explore, Actions, TabularStudy, Calibration, KNRStudy)
}
