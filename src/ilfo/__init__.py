"""Imitation learning from observations alone."""

from importlib.metadata import PackageNotFoundError, version

from ilfo.data.demonstrations import Demonstrations
from ilfo.methods.bc import BC
from ilfo.methods.bco import BCO
from ilfo.methods.gail import GAIL, GAIfO
from ilfo.methods.ilpo import ILPO
from ilfo.methods.mobile import MobILE

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
