"""What the checks of recordings have to say."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something about the recordings that the user should know."""

    wrong: bool
    """Learning would be in vain; otherwise it is doubtful."""
    text: str
    """What was found, and what to do."""

    def __str__(self) -> str:
        return f"{'wrong' if self.wrong else 'doubtful'}: {self.text}"
