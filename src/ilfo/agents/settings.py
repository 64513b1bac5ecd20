"""Settings of a method: changed by their names, shown by what differs from the default."""

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import numpy as np

from ilfo.agents.registry import COMPONENTS
from ilfo.storage import config


class Settings(eqx.Module):
    """Hyper-parameters of a method; all have defaults."""

    def __repr__(self) -> str:
        changes = differences(self, type(self)())
        listed = ", ".join(f"{name}={value}" for name, value in changes.items())
        return f"{type(self).__name__}({listed or 'all as by default'})"


Changes = Mapping[str, Any] | Sequence[tuple[str, Any]]


def changed(settings: Any, changes: Changes, parts: Mapping[str, type] = COMPONENTS) -> Any:
    """The settings with these changes, such as `{"planner": "PPO", "planner.clip": 0.1}`.

    Pairs are applied in their order, those of a mapping components first. One that is refused waits
    for the next ones, because `streams` may only be 1 together with no `inference`. A text can name
    a component among `parts`: one that wraps another, such as `ConstantCost`, wraps the present
    one, and one that is there already keeps its settings.
    """
    if isinstance(changes, Mapping):
        changes = sorted(changes.items(), key=lambda change: change[0].count("."))
    waiting, refused = [], []
    for name, value in changes:
        try:
            settings = _changed(settings, name, value, parts)
        except ValueError as error:
            refused.append(error)
            waiting.append((name, value))
    if refused and len(waiting) == len(changes):
        raise refused[0]
    return changed(settings, waiting, parts) if waiting else settings


def _changed(settings: Any, name: str, value: Any, parts: Mapping[str, type]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str):
        return config.override(settings, name, value)
    choices = _choices(config.annotation(settings, name), parts)
    if value == "none" and "none" in choices:
        return config.override(settings, name, None)
    if value in choices:
        present = config.lookup(settings, name)
        return config.override(settings, name, _component(parts[value], present))
    if choices:
        raise ValueError(f"{name}: there is no {value!r}; choose among {', '.join(choices)}")
    return config.override(settings, name, value)


def _component(kind: type, present: Any) -> Any:
    if type(present) is kind:
        return present
    wraps = "wrapped" in (field.name for field in dataclasses.fields(kind))
    try:
        return kind(wrapped=present) if wraps else kind()
    except TypeError as error:
        name = kind.__name__
        raise ValueError(f"{name} cannot be chosen by its name alone: {error}") from error


def _choices(hint: Any, parts: Mapping[str, type]) -> list[str]:
    """The names that a field with this annotation takes, if it is for a component."""
    hints = typing.get_args(hint) or (hint,)
    kinds = tuple(h for h in hints if isinstance(h, type) and issubclass(h, eqx.Module))
    named = [name for name, kind in parts.items() if issubclass(kind, kinds)] if kinds else []
    return [*named, "none"] if named and type(None) in hints else named


def walk(spec: Any, prefix: str = "") -> Iterator[tuple[str, str, type, str]]:
    """Dotted name and value of every field, depth first, with the class that has it and its name
    there."""
    for field in dataclasses.fields(spec):
        value, name = getattr(spec, field.name), prefix + field.name
        nested = dataclasses.is_dataclass(value)
        shown = type(value).__name__ if nested else getattr(value, "__name__", repr(value))
        yield name, shown, type(spec), field.name
        if nested:
            yield from walk(value, name + ".")


def differences(settings: Any, other: Any) -> dict[str, str]:
    """Names and values of the fields in which settings differ from others."""
    known = {name: value for name, value, *_ in walk(other)}
    return {name: value for name, value, *_ in walk(settings) if known.get(name) != value}
