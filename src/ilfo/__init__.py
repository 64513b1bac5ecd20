"""Imitation learning from observations alone."""

from importlib.metadata import PackageNotFoundError, version

from ilfo.baselines.adversarial import GAIL, GAIfO
from ilfo.baselines.bc import BC
from ilfo.baselines.bco import BCO
from ilfo.baselines.ilpo import ILPO
from ilfo.demonstrations import Demonstrations
from ilfo.mobile import MobILE

try:
    __version__ = version("ilfo")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = [
    "BC",
    "BCO",
    "GAIL",
    "ILPO",
    "Demonstrations",
    "GAIfO",
    "MobILE",
    "__version__",
]
