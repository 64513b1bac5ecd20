"""Values as the command line gives them."""

from typing import Any


def plain_value(text: str) -> Any:
    """The number, bool or None that a text stands for; else the text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)
