"""The terminal that all commands write to."""

from rich.console import Console

from ilfo.common.printable import printable

console = Console(emoji=False)


def say(text: str) -> None:
    """Print a text as it is: no markup, and paths are not broken where a line ends. What could
    steer the terminal is escaped."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
