"""Text from files, harmless to print."""


def printable(text: str) -> str:
    """The text with everything but line breaks and printable characters written as an escape.

    A file can hold sequences that move the cursor, change a terminal's title or hide what follows.
    """
    return "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
