"""One trajectory, and the checks that every trajectory passes before anyone sees it.

A trajectory of T transitions holds T+1 states, and says how it stopped: in a terminal state, or
cut off while it could have gone on. The two are never told apart by guessing, because the choice
decides what is learned about endings.

Each check says what is wrong; `checked` adds whose trajectory it was.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of one episode, or of a part of one."""

    states: np.ndarray
    """float32 (T+1, S)."""
    terminal: bool
    """Whether the last state ended the episode; False when the recording was cut off there."""
    actions: np.ndarray | None = None
    """(T, ...), for the methods that ask for actions."""


def checked(trajectories: Iterable[Trajectory], dim: int | None = None) -> Iterator[Trajectory]:
    """Passes on valid trajectories of one dimension as frozen float32, and stops at any other."""
    index = -1
    for index, raw in enumerate(trajectories):
        try:
            trajectory = _valid_trajectory(raw)
            found = trajectory.states.shape[1]
            if dim not in (None, found):
                raise ValueError(f"states have dimension {found}, but those before it {dim}")
        except ValueError as error:
            raise ValueError(f"trajectory {index}: {error}") from error
        dim = found
        yield trajectory
    if index < 0:
        raise ValueError("there are no trajectories; at least one is needed")


def _valid_trajectory(raw: Trajectory) -> Trajectory:
    if not isinstance(raw, Trajectory):
        raise ValueError(f"is a {type(raw).__name__}; wrap it as Trajectory(states, terminal=...)")
    if not isinstance(raw.terminal, (bool, np.bool_)):
        raise ValueError(f"terminal is {raw.terminal!r}, expected True or False")
    states = _valid_states(np.asarray(raw.states))
    actions = None if raw.actions is None else _valid_actions(raw.actions, len(states) - 1)
    return Trajectory(states, bool(raw.terminal), actions)


def _valid_states(states: np.ndarray) -> np.ndarray:
    if states.ndim != 2:
        raise ValueError(
            f"states have shape {states.shape}, expected (T+1, S); "
            "put a single trajectory in a list, and flatten each state to a vector"
        )
    if states.dtype.kind not in "biuf":
        raise ValueError(f"states have dtype {states.dtype}, expected real numbers")
    if len(states) < 2 or states.shape[1] < 1:
        raise ValueError(f"states have shape {states.shape}, expected two states or more, S >= 1")
    with np.errstate(over="ignore"):  # what overflows is reported below
        single = states.astype(np.float32, copy=states.flags.writeable)
    bad = np.argwhere(~np.isfinite(single))
    if len(bad):
        step, dimension = bad[0]
        raise ValueError(
            f"the state at step {step}, dimension {dimension} is {states[step, dimension]}, which "
            "is not a finite float32 number; drop the trajectory or repair its recording"
        )
    return frozen(single)


def _valid_actions(actions: np.ndarray, transitions: int) -> np.ndarray:
    """Checks the length alone: what actions mean concerns only the methods that use them."""
    actions = np.asarray(actions)
    found = len(actions) if actions.ndim else 0
    if found != transitions:
        raise ValueError(f"has {found} actions, expected {transitions}, one between two states")
    return frozen(actions.copy() if actions.flags.writeable else actions)


def terminal_flags(terminal: bool | Sequence[bool] | np.ndarray, count: int) -> np.ndarray:
    flags = np.asarray(terminal)
    is_bool = flags.dtype == np.bool_ or flags.size == 0
    if not is_bool or flags.shape not in ((), (count,)):
        raise ValueError(
            f"terminal has dtype {flags.dtype} and shape {flags.shape}, expected one bool, or one "
            f"for each of {count} trajectories: True where the last state ended the episode"
        )
    return np.broadcast_to(flags, (count,))


def valid_returns(returns: Any, count: int) -> np.ndarray | None:
    if returns is None:
        return None
    values = np.array(returns)
    if values.shape != (count,) or values.dtype.kind not in "biuf":
        raise ValueError(
            f"returns have dtype {values.dtype} and shape {values.shape}, "
            f"expected one number for each of {count} trajectories"
        )
    if not np.isfinite(values).all():
        index = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"trajectory {index}: its return is {values[index]}, expected a number")
    return frozen(values.astype(np.float64))


def lengths_of(trajectories: Iterable[Trajectory]) -> np.ndarray:
    return frozen(np.array([len(each.states) - 1 for each in trajectories], dtype=np.int64))


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
