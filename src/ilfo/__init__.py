"""Imitation learning from observations alone.

The names below are imported on first use, so that `import ilfo` and `ilfo --help` are fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

__all__ = [
    "BC",
    "BCO",
    "GAIL",
    "ILPO",
    "DACfO",
    "Demonstrations",
    "GAIfO",
    "MobILE",
    "__version__",
]

if TYPE_CHECKING:
    from ilfo.data.demonstrations import Demonstrations
    from ilfo.methods.bc import BC
    from ilfo.methods.bco import BCO
    from ilfo.methods.dacfo import DACfO
    from ilfo.methods.gail import GAIL, GAIfO
    from ilfo.methods.ilpo import ILPO
    from ilfo.methods.mobile import MobILE

    __version__: str
else:  # type checkers would take any name for an attribute if they saw __getattr__
    _MODULES = {
        "BC": "ilfo.methods.bc",
        "BCO": "ilfo.methods.bco",
        "DACfO": "ilfo.methods.dacfo",
        "Demonstrations": "ilfo.data.demonstrations",
        "GAIL": "ilfo.methods.gail",
        "GAIfO": "ilfo.methods.gail",
        "ILPO": "ilfo.methods.ilpo",
        "MobILE": "ilfo.methods.mobile",
    }

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = getattr(importlib.import_module(_MODULES[name]), name)
        elif name == "__version__":
            value = _version()
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ilfo")
    except PackageNotFoundError:
        return "0+unknown"
