"""Hyper-parameters with their values and the texts under their fields."""

import textwrap
from typing import Any

from ilfo.agents.settings import walk
from ilfo.cli.field_texts import field_texts

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
