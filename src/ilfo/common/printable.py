"""Text from files and of errors about them, harmless to print."""

LONGEST = 600
"""Characters of an error that are shown."""


def brief(error: object) -> str:
    """What an error says, in one line and cut in the midst if it is long: some quote the bytes
    that they stumbled over."""
    said = " ".join(str(error).split())
    if not said and isinstance(error, Exception):
        said = type(error).__name__
    half = LONGEST // 2
    return said if len(said) <= LONGEST else f"{said[:half]} ... {said[-half:]}"


def quoted(value: object) -> str:
    """A value as Python writes it, in one line and cut if it is long."""
    return brief(repr(value))


def printable(text: str) -> str:
    """The text with everything but line breaks and printable characters written as an escape.

    A file can hold sequences that move the cursor, change a terminal's title or hide what follows.
    """
    return "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
