"""Files that survive a crash: atomic writes, checkpoints of pytrees, settings as JSON, and the
versions a file was made with.

Nothing here uses pickle, and nothing that a file names is imported or executed. Names are imported
on first use, because `ilfo.storage.atomic` is used without JAX.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.storage.checkpoint import CheckpointError
    from ilfo.storage.config import ConfigError, from_dict, override, to_dict

__all__ = ["CheckpointError", "ConfigError", "from_dict", "override", "to_dict"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "CheckpointError": "checkpoint",
        "ConfigError": "config",
        "from_dict": "config",
        "override": "config",
        "to_dict": "config",
    },
)
