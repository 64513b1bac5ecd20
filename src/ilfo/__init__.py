"""Imitation learning from observations alone."""

from importlib.metadata import PackageNotFoundError, version

from ilfo.demonstrations import Demonstrations
from ilfo.mobile import MobILE

try:
    __version__ = version("ilfo")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = ["Demonstrations", "MobILE", "__version__"]
