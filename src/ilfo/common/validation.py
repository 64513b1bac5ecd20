"""Range checks of hyper-parameters, made when a settings object is constructed.

Arrays are not checked: a hyper-parameter that is swept under `vmap` has no value yet.
"""

import sys
from typing import Any

LARGEST = sys.float_info.max
"""An integer may be larger than any float."""


def require_at_least(spec: Any, lowest: float, *names: str) -> None:
    _require(spec, names, lambda value: value >= lowest, f"must be at least {lowest}")


def require_positive(spec: Any, *names: str) -> None:
    _require(spec, names, lambda value: value > 0, "must be above 0")


def require_share(spec: Any, *names: str) -> None:
    _require(spec, names, lambda value: 0 <= value <= 1, "must lie in [0, 1]")


def require_probability(spec: Any, *names: str) -> None:
    _require(spec, names, lambda value: 0 < value < 1, "must lie in (0, 1)")


def _require(spec: Any, names: tuple[str, ...], holds, rule: str) -> None:
    for name in names:
        value = getattr(spec, name)
        if isinstance(value, str) or value is None:
            raise ValueError(f"{type(spec).__name__}.{name} is {value!r}, but {rule}")
        if isinstance(value, int | float) and not (abs(value) <= LARGEST and holds(value)):
            raise ValueError(f"{type(spec).__name__}.{name} is {value}, but {rule}")
