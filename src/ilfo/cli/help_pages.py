"""Help pages at the width of any terminal: of the groups, and of the options of a command."""

import inspect
import shutil
import textwrap
import types
from dataclasses import MISSING, Field, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from ilfo.cli.commands import Group
from ilfo.cli.field_texts import field_texts

WORDS = {str: "STR", int: "INT", float: "FLOAT", Path: "PATH"}
"""What stands for a value of that type."""
(POSITIONAL,) = get_args(tyro.conf.Positional[int])[1:]


def group_page(program: str, group: Group) -> str:
    """What a group of commands is for, how to begin, and its commands."""
    column = max(map(len, group.commands)) + 4
    width = shutil.get_terminal_size().columns
    listed = [
        textwrap.fill(
            command.summary,
            width,
            initial_indent=f"  {name}".ljust(column),
            subsequent_indent=" " * column,
        )
        for name, command in group.commands.items()
    ]
    return "\n".join(
        [
            f"usage: {program} COMMAND [OPTIONS]",
            "",
            group.summary,
            *(["", group.beginning] if group.beginning else []),
            "",
            "Commands:",
            *listed,
            "",
            f"`{program} COMMAND --help` lists the options of a command.",
        ]
    )


def explained(kind: type) -> type:
    """The fields of a command as tyro should show them: the command's own before those it shares
    with others, and what may be left out without the word None."""
    hints, texts = get_type_hints(kind, include_extras=True), field_texts(kind)
    own = inspect.get_annotations(kind)
    ordered = sorted(fields(kind), key=lambda each: each.name not in own)
    made = [
        (each.name, Annotated[hints[each.name], _shown(hints[each.name], each, texts)], _same(each))
        for each in ordered
    ]
    return make_dataclass(kind.__name__, made, kw_only=True)


def description(kind: type) -> str:
    """The docstring of a command. tyro joins lines, but for those that begin with a space."""
    width = shutil.get_terminal_size().columns
    paragraphs = inspect.cleandoc(str(kind.__doc__)).split("\n\n")
    fill = lambda text: textwrap.fill(" ".join(text.split()), width, subsequent_indent="  ")
    return "\n\n".join(map(fill, paragraphs))


def _same(given: Field) -> Any:
    if given.default_factory is not MISSING:
        return field(default_factory=given.default_factory)
    return field(default=given.default)


def _shown(hint: Any, given: Field, texts: dict[str, str]) -> Any:
    unsaid = "" if given.default is None or given.default == () else None
    return tyro.conf.arg(
        help=texts.get(given.name), metavar=_metavar(hint), help_behavior_hint=unsaid
    )


def _metavar(hint: Any) -> str | None:
    """For what may be None; otherwise tyro's own."""
    plain, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if get_origin(plain) not in (Union, types.UnionType) or types.NoneType not in get_args(plain):
        return None
    inner, *_ = (kind for kind in get_args(plain) if kind is not types.NoneType)
    literal = get_origin(inner) is Literal
    word = "{" + ",".join(get_args(inner)) + "}" if literal else WORDS.get(inner, "VALUE")
    return f"[{word}]" if POSITIONAL in marks else word
