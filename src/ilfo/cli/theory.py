"""The studies of `ilfo theory`."""

from ilfo.theory.actions import Actions
from ilfo.theory.calibration import Calibration
from ilfo.theory.explore import Explore
from ilfo.theory.knr import KNR
from ilfo.theory.study import Study
from ilfo.theory.tabular import Tabular

STUDIES: dict[str, type[Study]] = {
    study.__name__.lower(): study for study in (Explore, Actions, Tabular, Calibration, KNR)
}
