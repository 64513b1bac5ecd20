"""The command `ilfo`. Every option's help is the text under its field."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import tyro
from rich.console import Console

from ilfo.cli import bench, demos, info, theory, train
from ilfo.common.optional import MissingExtraError

COMMANDS: dict[str, Any] = {
    "train": train.Train,
    "resume": train.Resume,
    "evaluate": train.Evaluate,
    "settings": info.ListSettings,
    "tasks": info.ListTasks,
    "demos": {"inspect": demos.Inspect, "record": demos.Record, "convert": demos.Convert},
    "expert": {"train": demos.TrainExpert},
    "bench": {"run": bench.BenchRun, "table": bench.BenchTable, "plot": bench.BenchPlot},
    "theory": theory.STUDIES,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what the user can mend ends in one line, anything else in a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    commands, program = COMMANDS, "ilfo"
    while arguments and isinstance(commands.get(arguments[0]), dict):
        program, commands = f"{program} {arguments[0]}", commands[arguments.pop(0)]
    command = tyro.extras.subcommand_cli_from_dict(
        {name: _constructor(kind) for name, kind in commands.items()},
        prog=program,
        description=__doc__,
        args=arguments,
    )
    try:
        command.run()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads what is printed, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)  # as rich does
    except (
        ValueError,
        OSError,
        FloatingPointError,
        MissingExtraError,
        gymnasium.error.Error,
    ) as error:
        Console(stderr=True, emoji=False).print(
            f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _constructor(kind: Any) -> Callable[..., Any]:
    if isinstance(kind, dict):
        return _group(kind)
    return kind


def _group(kinds: dict[str, Any]) -> Callable[..., Any]:
    def group() -> None: ...

    group.__doc__ = "Commands: " + ", ".join(kinds)
    return group
