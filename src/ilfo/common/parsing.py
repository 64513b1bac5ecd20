"""Values as the command line gives them."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any


def plain_value(text: str) -> Any:
    """The number, bool or None that a text stands for; else the text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def separate(texts: Sequence[str], whole: Collection[str] = ()) -> Iterator[str]:
    """The texts one by one, those with commas in parts; apart from the ones that are `whole`."""
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        yield from [text] if text in whole else [part for part in parts if part] or [text]
