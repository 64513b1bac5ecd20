"""Which column of a table holds what: episode, time, ending, reward, actions, and the state.

The names of the columns decide, unless the caller names them. A column that is hardly a dimension
of a state is not taken for one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ilfo.data.columns import EPISODE

STEP, TIME, TERMINAL, ACTION, REWARD = "step", "time", "terminal", "action", "reward"
STAMP = "timestamp"
TIMES = (TIME, STAMP)
"""Names, in any case, of a column that says when a state was recorded; `time` is in seconds."""
_NO_STATES = frozenset(
    [
        "episode",
        "episode_id",
        "trajectory",
        "step",
        "steps",
        "t",
        "time",
        "timestep",
        "timestamp",
        "index",
        "id",
        "terminal",
        "terminals",
        "terminated",
        "done",
        "dones",
        "truncated",
        "truncation",
        "timeout",
        "reward",
        "rewards",
        "rews",
        "return",
        "act",
        "acts",
        "info",
        "infos",
    ]
)
"""Column names, in any case, that are hardly ever dimensions of a state."""
LISTED = "list the columns of the state: --states NAME ... (states=[...] in Python)"
"""What to do about columns that are not part of the state."""


@dataclass(frozen=True)
class Roles:
    """Names of columns; None where a table has no such column."""

    episode: str | None
    """None: the whole table is one episode."""
    step: str | None
    time: str | None
    terminal: str | None
    reward: str | None
    states: tuple[str, ...]
    actions: tuple[str, ...]
    """Empty if they are not asked for."""

    @property
    def names(self) -> list[str]:
        """All columns that have to be read."""
        single = [self.episode, self.step, self.time, self.terminal, self.reward]
        return [name for name in single if name is not None] + [*self.states, *self.actions]


def is_action(name: str) -> bool:
    """Whether a column of that name holds actions."""
    return name.lower().startswith(ACTION)


def roles_of(
    names: list[str],
    *,
    states: Sequence[str] | None,
    terminal: Any,
    episode: str | None,
    actions: bool,
) -> Roles:
    """The roles of the columns; the arguments are those of `ilfo.data.table.read_table`."""
    if not names:
        raise ValueError("the table has no columns; its first row should name them")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(f"columns {twice} appear more than once; rename or drop the duplicates")
    held = lambda name: name if name in names else None
    told = _column(names, episode), _terminal(names, terminal)
    labels = told[0] or held(EPISODE)
    times = (name for name in names if name.lower() in TIMES and name not in (states or ()))
    reserved = (labels, held(STEP), next(times, None), told[1], held(REWARD))
    possible = [name for name in names if name not in reserved and not is_action(name)]
    acts = tuple(name for name in names if is_action(name)) if actions else ()
    if actions and not acts:
        raise ValueError(f"there is no column that begins with {ACTION!r}, only {names}")
    return Roles(*reserved, _states(names, possible, states), acts)


def _column(names: list[str], name: str | None) -> str | None:
    if name is not None and name not in names:
        raise ValueError(f"there is no column {name!r}, only {names}")
    return name


def _terminal(names: list[str], terminal: Any) -> str | None:
    """The column that says how episodes ended; None if `terminal` says it."""
    if isinstance(terminal, str):
        return _column(names, terminal)
    if terminal is None and TERMINAL not in names:
        raise ValueError(
            f"there is no column {TERMINAL!r}, only {names}; add one that is true in the last row "
            "of an episode that ended in a terminal state, name the column that says so, or say "
            "it of all episodes: --terminal COLUMN or --terminal false if all were truncated "
            "(terminal=False in Python)"
        )
    if terminal is not None and TERMINAL in names:
        raise ValueError(f"terminal is given twice: leave it out, or drop the column {TERMINAL!r}")
    return TERMINAL if terminal is None else None


def _states(names: list[str], possible: list[str], states: Sequence[str] | None) -> tuple[str, ...]:
    """The columns that are dimensions of the state."""
    if states is not None:
        chosen = [states] if isinstance(states, str) else list(states)
        known = set(possible)
        wrong = [name for name in chosen if not isinstance(name, str) or name not in known]
        if wrong or len(set(chosen)) < len(chosen):
            raise ValueError(f"states={chosen}, expected distinct names from {possible}")
    else:
        _check_plausible(names, possible)
        chosen = possible
    if not chosen:
        raise ValueError(f"none of the columns {names} is a dimension of the state")
    return tuple(chosen)


def _check_plausible(names: list[str], possible: list[str]) -> None:
    unnamed = [name for name in possible if not name or name.startswith("__index_level_")]
    if unnamed:
        raise ValueError(
            f"column {names.index(unnamed[0])} has no name and may be an index; remove it from "
            f"the table, or {LISTED}"
        )
    odd = [name for name in possible if name.lower() in _NO_STATES]
    if odd:
        raise ValueError(
            f"column {odd[0]!r} does not look like a dimension of the state; drop it, rename "
            f"it to {EPISODE}, {STEP}, {TIME}, {TERMINAL}, {REWARD} or {ACTION}... if it is one of "
            f"these (--episode and --terminal name a column, too), or {LISTED}"
        )
