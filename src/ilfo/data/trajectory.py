"""The record `Trajectory`, and the checks that every trajectory has to pass.

A trajectory of T transitions has T+1 states. It ends in a terminal state or is truncated. Which of
the two is never guessed, because it determines what is learned about termination.

The checks report what is wrong; `checked` adds the index of the trajectory.
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
    """Whether the last state ended the episode; False if the recording was truncated there."""
    actions: np.ndarray | None = None
    """(T, ...), for methods that need actions."""


def checked(
    trajectories: Iterable[Trajectory], dim: int | None = None, *, clips: bool = False
) -> Iterator[Trajectory]:
    """The trajectories as read-only float32.

    Raises ValueError at the first one that is not valid or has another state dimension. Only clips
    may have a single state.
    """
    index = -1
    for index, raw in enumerate(trajectories):
        try:
            trajectory = _valid_trajectory(raw, clips)
            own_dim = trajectory.states.shape[1]
            if dim not in (None, own_dim):
                raise ValueError(f"states have dimension {own_dim}, but those before it {dim}")
        except ValueError as error:
            raise ValueError(f"trajectory {index}: {error}") from error
        dim = own_dim
        yield trajectory
    if index < 0:
        raise ValueError("there are no trajectories; expected at least one")


def _valid_trajectory(raw: Trajectory, clips: bool) -> Trajectory:
    if not isinstance(raw, Trajectory):
        raise ValueError(f"is a {type(raw).__name__}; wrap it as Trajectory(states, terminal=...)")
    if not isinstance(raw.terminal, (bool, np.bool_)):
        raise ValueError(f"terminal is {raw.terminal!r}, expected True or False")
    states = _valid_states(np.asarray(raw.states), clips)
    actions = None if raw.actions is None else _valid_actions(raw.actions, len(states) - 1)
    return Trajectory(states, bool(raw.terminal), actions)


def _valid_states(states: np.ndarray, clips: bool) -> np.ndarray:
    if states.ndim != 2:
        raise ValueError(
            f"states have shape {states.shape}, expected (T+1, S); "
            "put a single trajectory in a list, and flatten each state to a vector"
        )
    if states.dtype.kind not in "biuf":
        raise ValueError(f"states have dtype {states.dtype}, expected real numbers")
    if len(states) < (1 if clips else 2) or states.shape[1] < 1:
        least = "one state or more" if clips else "two states or more"
        hint = "; only clips may have one (--clips, or metadata: clips)" if len(states) == 1 else ""
        raise ValueError(f"states have shape {states.shape}, expected {least}, S >= 1{hint}")
    with np.errstate(over="ignore"):  # overflow is reported below
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
    """Checks only the length; methods that use actions check the values."""
    actions = np.asarray(actions)
    count = len(actions) if actions.ndim else 0
    if count != transitions:
        raise ValueError(f"has {count} actions, expected {transitions}, one per transition")
    return frozen(actions.copy() if actions.flags.writeable else actions)


def terminal_flags(terminal: bool | Sequence[bool] | np.ndarray, count: int) -> np.ndarray:
    """One bool per trajectory, from one for all or one for each."""
    flags = np.asarray(terminal)
    is_bool = flags.dtype == np.bool_ or flags.size == 0
    if not is_bool or flags.shape not in ((), (count,)):
        raise ValueError(
            f"terminal has dtype {flags.dtype} and shape {flags.shape}, expected one bool, or one "
            f"for each of {count} trajectories: True where the last state ended the episode"
        )
    return np.broadcast_to(flags, (count,))


def valid_returns(returns: Any, count: int) -> np.ndarray | None:
    """One finite float64 per trajectory, or None."""
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
        raise ValueError(
            f"trajectory {index}: its return is {values[index]}, expected a finite number"
        )
    return frozen(values.astype(np.float64))


def lengths_of(trajectories: Iterable[Trajectory]) -> np.ndarray:
    """Transitions per trajectory."""
    lengths = [len(trajectory.states) - 1 for trajectory in trajectories]
    return frozen(np.array(lengths, dtype=np.int64))


def frozen(array: np.ndarray) -> np.ndarray:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array
