"""The command `ilfo`: find the class of a command, fill its fields from the arguments, run it."""

import sys
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import Annotated, Any, Union

import tyro

from ilfo.cli.commands import ROOT, Command, Group
from ilfo.cli.help_pages import description, explained, group_page
from ilfo.cli.streams import Terminated, discard_output, prepared_streams


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Mistakes of the user end in one line, any other error in a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    with prepared_streams():
        try:
            if arguments == ["--version"]:
                print(_version())
            else:
                parse(arguments).run()
            sys.stdout.flush()
        except KeyboardInterrupt as stop:
            sys.exit(143 if isinstance(stop, Terminated) else 130)
        except Exception as error:
            if isinstance(error, BrokenPipeError) and not hasattr(error, "__notes__"):
                # the reader of the output, such as `head`, has closed it
                discard_output()
                sys.exit(1)  # as rich does
            if not isinstance(error, _mistakes()):
                raise
            _print_error(error)
            _flush_or_discard()
            sys.exit(2)


def _flush_or_discard() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()


def parse(arguments: list[str]) -> Any:
    """The command that the arguments name, as an instance of its class."""
    program, entry = "ilfo", ROOT
    while arguments and arguments[0] in entry.commands:
        name = arguments.pop(0)
        program = f"{program} {name}"
        chosen = entry.commands[name]
        if isinstance(chosen, Command):
            kind = chosen.load(name)
            said, shown = description(kind), explained(kind)
            given: Any = tyro.cli(shown, prog=program, description=said, args=arguments)
            return kind(**vars(given))
        entry = chosen
    if arguments in (["-h"], ["--help"]):
        print(group_page(program, entry))
        sys.exit(0)
    return tyro.cli(_choice(entry, arguments), prog=program, args=arguments)


def _choice(group: Group, arguments: list[str]) -> Any:
    """For tyro's error message, or completion, where no command of the group is named.

    A class with the commands as a field, because tyro takes nearly twice as long for a plain union.
    """
    completion = any(argument.startswith("--tyro-") for argument in arguments)
    commands = {
        name: command.load(name) if completion and isinstance(command, Command) else _stub(command)
        for name, command in group.commands.items()
    }
    union: Any = Union[
        (
            *(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in commands.items()),
            Annotated[None, tyro.conf.Suppress],  # of one command alone there is no union
        )
    ]
    field = ("command", Annotated[union, tyro.conf.arg(name="")])
    return make_dataclass("Choice", [field], namespace={"__doc__": group.summary})


def _stub(command: Command | Group) -> type:
    """What a message shows of a command, without importing it."""
    return make_dataclass("Stub", [], namespace={"__doc__": command.summary})


def _mistakes() -> tuple[type[Exception], ...]:
    """Errors that the user can correct. Imported here, where something was raised already."""
    import gymnasium

    from ilfo.common.optional import MissingExtraError

    own = (ValueError, OSError, FloatingPointError, MemoryError, MissingExtraError)
    return *own, gymnasium.error.Error


def _print_error(error: Exception) -> None:
    from rich.console import Console

    from ilfo.common.printable import printable

    unsaid = "there is not enough memory" if isinstance(error, MemoryError) else None
    said = str(error).strip() or unsaid or type(error).__name__
    Console(stderr=True, emoji=False).print(
        printable("; ".join([f"error: {said}", *getattr(error, "__notes__", ())])),
        style="red",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _version() -> str:
    import ilfo

    return ilfo.__version__
