"""Hyper-parameters with their values and the texts under their fields."""

import ast
import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

from rich.table import Column, Table


def settings_table(settings: Any) -> Table:
    # a name that is cut short cannot be typed
    whole = Column("name", no_wrap=True)
    table = Table(whole, Column("value", no_wrap=True), "meaning", title=type(settings).__name__)
    for name, value, text in walk(settings):
        table.add_row(name, value, text)
    return table


def walk(spec: Any, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Dotted name, value and text of every field, depth first."""
    texts = field_texts(type(spec))
    for field in dataclasses.fields(spec):
        value, name = getattr(spec, field.name), prefix + field.name
        nested = dataclasses.is_dataclass(value)
        shown = type(value).__name__ if nested else getattr(value, "__name__", repr(value))
        yield name, shown, texts.get(field.name, "")
        if nested:
            yield from walk(value, name + ".")


def differences(settings: Any, other: Any) -> dict[str, str]:
    """Names and values of the fields in which settings differ from others."""
    known = {name: value for name, value, _ in walk(other)}
    return {name: value for name, value, _ in walk(settings) if known.get(name) != value}


def field_texts(kind: type) -> dict[str, str]:
    """The string literal under each annotated field of a class, inherited ones included."""
    own = [base for base in reversed(kind.__mro__) if inspect.get_annotations(base)]
    return {name: text for base in own for name, text in _own_texts(base).items()}


def _own_texts(kind: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    texts = {}
    for field, below in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = " ".join(str(below.value.value).split())
    return texts
