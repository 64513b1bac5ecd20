"""The studies of `ilfo theory`."""

from ilfo.theory.studies.actions import Actions
from ilfo.theory.studies.base import Study
from ilfo.theory.studies.calibration import Calibration
from ilfo.theory.studies.explore import Explore
from ilfo.theory.studies.knr import KNR
from ilfo.theory.studies.tabular import Tabular

STUDIES: dict[str, type[Study]] = {
    study.__name__.lower(): study for study in (Explore, Actions, Tabular, Calibration, KNR)
}
