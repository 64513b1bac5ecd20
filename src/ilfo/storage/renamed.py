"""Configurations of older versions, in today's names.

Run directories, saved agents and result files name classes and fields as they were called when
they were written. Renaming a class, turning a setting into a constant, or adding a setting adds a
row here.
"""

from typing import Any

CLASSES = {"Settings": "MobILESettings"}
"""Old name of a class: its name now."""

CONSTANTS: dict[tuple[str, str], Any] = {
    ("SGD", "nesterov"): True,
    ("TRPO", "shortening"): 0.8,
    ("PPO", "max_gradient"): 0.5,
}
"""Class and field of a former setting: the value that the code has now. A file with another value
keeps the field, and so cannot be loaded: nothing computes what it asks for any more."""


GONE = {("MobILESettings", "averaging")}
"""Class and field of former settings that matter in training alone: they are dropped, whatever
their value. An agent that was saved with them acts as it did; what it learns from then on, it
learns without them."""
GONE_STATE = (".average",)
"""Parts of train states that went with them."""
_POOLED = ("total", "time", "weight", "squares", "apart")
ADDED_STATE = {".smallest": ".value"} | {f".kept.{part}": f".pools[0].{part}" for part in _POOLED}
"""Ending of a part of train states that older ones do not have: that of the part that was both, or
that is nearest to it."""


ADDED: dict[str, dict[str, Any]] = {
    "MobILESettings": {
        "inference": None,
        "floor": False,
        "fall_back": False,
        "balanced": False,
        "paired": False,
    },
    "EnsembleDynamics": {"scaled": False},
    "Inference": {"noise_prior": 0, "few": 1, "quieter": 1.0, "quieter_times": 2, "held": False},
    "Problem": {"every": 1},
    "MMD": {"scales": 1, "ridge": None},
    "Passes": {"averaged": False},
    "MLPPolicy": {"state_noise": False},
    "BufferNormalised": {"quantile": 1.0, "soft": False},
}
"""Class: settings that it did not have at first, and the value that does what the code did then,
unless that is None and the default."""


_NONE = object()


def up_to_date(data: Any) -> Any:
    """A configuration as `config.to_dict` would write it today."""
    if isinstance(data, list):
        return [up_to_date(item) for item in data]
    if not isinstance(data, dict):
        return data
    kind = data.get("type")
    renewed = {
        name: up_to_date(value)
        for name, value in data.items()
        if CONSTANTS.get((str(kind), name), _NONE) != value
        and (CLASSES.get(str(kind), str(kind)), name) not in GONE
    }
    if isinstance(kind, str):
        renewed["type"] = CLASSES.get(kind, kind)
        renewed = ADDED.get(renewed["type"], {}) | renewed
    return renewed
