"""Hyper-parameters with their values and the texts under their fields."""

import ast
import inspect
import itertools
import textwrap
from typing import Any

from ilfo.agents.settings import walk

WIDTH = 80


def settings_text(settings: Any) -> str:
    """A line `name = value` for each, and what it means below it."""
    shown = [f"{type(settings).__name__}:"]
    for name, value, owner, field in walk(settings):
        meaning = field_texts(owner).get(field, "")
        indent = "    "
        wrapped = textwrap.wrap(meaning, WIDTH, initial_indent=indent, subsequent_indent=indent)
        shown += ["", f"{name} = {value}", *wrapped]
    return "\n".join(shown)


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
