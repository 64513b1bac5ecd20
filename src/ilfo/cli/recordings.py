"""What options of several commands say of recordings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ilfo.data.demonstrations import Demonstrations
from ilfo.data.files import minari_id
from ilfo.environments import observing
from ilfo.environments.factory import factory


@dataclass(frozen=True, kw_only=True)
class LayoutOptions:
    """What a table or an .npy file does not say of itself."""

    states: tuple[str, ...] = ()
    """Columns of a table that are the state, e.g. x y angle; by default all that are nothing
    else."""
    terminal: str | None = None
    """How the recordings of a table or of .npy files ended: true if in terminal states, false if
    truncated, or the table's column that says it; `terminal` by default."""
    episode: str | None = None
    """Column of a table that tells episodes apart; `episode` by default, and a table without it is
    one episode."""
    clips: bool = False
    """The recordings are clips: they begin anywhere, not at a reset. Then some may have a single
    state."""

    def layout(self) -> dict[str, Any]:
        """As arguments of `RunSpec`."""
        words: dict[str | None, bool | None] = {"true": True, "false": False, None: None}
        lower = None if self.terminal is None else self.terminal.lower()
        return {
            "states": self.states,
            "terminal": words.get(lower, self.terminal),
            "episode": self.episode,
            "clips": self.clips,
        }

    def load(self, place: str, *, actions: bool = False, large: bool = False) -> Demonstrations:
        """The demonstrations at that place."""
        options = self.layout() | {"states": self.states or None}
        return Demonstrations.load(place, **options, actions=actions, large=large)


def absolute(place: str) -> str:
    """The same file from any working directory; ids of Minari datasets stay as they are."""
    return place if minari_id(place) is not None else str(Path(place).resolve())


def stated(
    env: str, horizon: int | None, every: int | None, rate: str | None, observe: Sequence[str]
) -> tuple[int | None, tuple[int, ...]]:
    """Control steps between recorded states, and the dimensions that they hold."""
    if rate is not None and every is not None:
        raise ValueError("--every and --rate say the same; give one of them")
    if rate is None and not observe:
        return every, ()
    environment = factory(env, horizon).make()
    if rate is not None:
        every = observing.steps_per_frame(rate, environment)
    return every, observing.dimensions(observe, environment)
