"""Demonstrations from lists of episodes, the format of the MobILE authors' code and related work.

Such a file is made by `torch.save` or `pickle.dump` and holds a list of dicts:

    {"episode": (states, actions, next_states, rewards, dones), "ep_rew": ...}     one row per step
    {"episode": (states, actions, rewards), ...}       states include the one after the last step
    {"episode": states}

Only the first form says whether an episode terminated or was truncated; for the others the caller
has to say it. The file is parsed without unpickling it (`ilfo.data.safe_pickle`), and neither
library has to be installed.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.printable import brief
from ilfo.data.npz import DemonstrationError, naming_large
from ilfo.data.safe_pickle import PickleError, read_pickle
from ilfo.data.trajectory import Trajectory, checked, valid_returns
from ilfo.data.unpacking import UnpackedSizeError, check_unpacked

_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
"""The first pickle in a file of the old format of `torch.save`; two more precede the data."""


def read_episodes(
    path: Path,
    *,
    horizon: int,
    terminal: bool | None,
    actions: bool,
    clips: bool = False,
    large: bool = False,
) -> tuple[list[Trajectory], np.ndarray | None]:
    """The trajectories, and their returns if every episode has an "ep_rew"."""
    if horizon < 1:
        raise ValueError(f"horizon is {horizon}, but must be at least 1")
    try:
        episodes = _read_file(path, large)
        if not isinstance(episodes, list) or not all(
            isinstance(episode, dict) and "episode" in episode for episode in episodes
        ):
            raise ValueError('expected a list of dicts with an entry "episode"')
        raw = _trajectories(episodes, horizon, terminal, actions)
        trajectories = list(checked(raw, clips=clips))
        recorded = [episode.get("ep_rew") for episode in episodes]
        returns = None if any(total is None for total in recorded) else _numbers(recorded)
        return trajectories, valid_returns(returns, len(episodes))
    except DemonstrationError:
        raise
    except PickleError as error:
        raise DemonstrationError(f"{path} is not a list of episodes: {error}") from error
    except ValueError as error:
        raise DemonstrationError(f"{path}: {brief(error)}") from error


def _read_file(path: Path, large: bool) -> Any:
    if zipfile.is_zipfile(path):
        with naming_large(path):
            return read_pickle(io.BytesIO(_zipped_pickle(path, large)))
    with path.open("rb") as file:
        value = read_pickle(file)
        if value == _TORCH_MAGIC and isinstance(value, int):
            read_pickle(file), read_pickle(file)
            value = read_pickle(file)
        return value


def _zipped_pickle(path: Path, large: bool) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            if not large:
                check_unpacked(path, archive.infolist())
            pickles = [name for name in archive.namelist() if name.endswith("data.pkl")]
            if len(pickles) != 1:
                raise PickleError("it is a zip archive, but not one of torch.save")
            return archive.read(pickles[0])
    except (PickleError, UnpackedSizeError):
        raise
    # Damaged bytes surface as several unrelated exceptions of zipfile and zlib.
    except Exception as error:
        raise PickleError(f"it is a damaged archive: {brief(error)}") from error


def _trajectories(
    episodes: list[dict], horizon: int, terminal: bool | None, actions: bool
) -> Iterator[Trajectory]:
    for index, episode in enumerate(episodes):
        try:
            yield _trajectory(episode["episode"], horizon, terminal, actions)
        except ValueError as error:
            raise ValueError(f"trajectory {index}: {error}") from error


def _trajectory(episode: Any, horizon: int, terminal: bool | None, actions: bool) -> Trajectory:
    states, taken, done = _parts(episode)
    steps = len(states) - 1
    if steps > horizon:
        raise ValueError(f"has {steps} steps, more than the horizon of {horizon}")
    if actions and taken is None:
        raise ValueError("has no actions")
    if (done is None) == (terminal is None):
        raise ValueError(
            "has no dones, so it does not say whether it terminated or was truncated; pass terminal"
            if done is None
            else "has dones, which say whether it terminated; leave terminal out"
        )
    # these files report a time limit as done, too
    ended = bool(terminal if done is None else done) and steps < horizon
    return Trajectory(states, ended, taken if actions else None)


def _parts(episode: Any) -> tuple[np.ndarray, Any, bool | None]:
    """All states, the actions if any, and whether the last step was done if there are dones."""
    if isinstance(episode, np.ndarray):
        return episode, None, None
    parts = [_numbers(part) for part in episode] if isinstance(episode, (tuple, list)) else []
    if len(parts) == 3:
        _check_rows(len(parts[0]) - 1 if parts[0].ndim else 0, parts[1:])
        return parts[0], parts[1], None
    if len(parts) != 5:
        raise ValueError(
            "an episode must be an array of states, or (states, actions, rewards), or (states, "
            "actions, next states, rewards, dones)"
        )
    before, after, dones = parts[0], parts[2], parts[4].ravel()
    if before.ndim != 2 or before.shape != after.shape or not len(before):
        raise ValueError(
            f"has states of shape {before.shape} and next states of shape {after.shape}, expected "
            "one row of each per step"
        )
    if not all(array.dtype.kind in "biuf" for array in (before, after, dones)):
        raise ValueError("has states or dones that are not numbers")
    _check_rows(len(before), [parts[1], parts[3], dones])
    if not np.isin(dones, (0, 1)).all():
        raise ValueError("has dones other than 0 and 1, or true and false")
    unknown = np.isnan(before[1:]) & np.isnan(after[:-1])  # reported later, by the check of states
    apart = np.flatnonzero(((before[1:] != after[:-1]) & ~unknown).any(axis=1))
    if len(apart):
        raise ValueError(
            f"the next state of step {apart[0]} is not the state of step {apart[0] + 1}: steps are "
            "missing, or it is more than one episode"
        )
    if dones[:-1].any():
        raise ValueError(
            f"is done at step {int(np.argmax(dones))}, but has {len(before)} steps; split it there"
        )
    return np.concatenate([before, after[-1:]]), parts[1], bool(dones[-1])


def _numbers(value: Any) -> np.ndarray:
    """Numbers, or nested lists of them, as an array. Of text NumPy would make an array in which
    every entry has room for the longest."""
    if not _holds_numbers(value):
        raise ValueError("has entries that are not numbers")
    return np.asarray(value)


def _holds_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_holds_numbers, value))
    return isinstance(value, (bool, int, float, np.ndarray, np.bool_, np.number))


def _check_rows(steps: int, arrays: list[np.ndarray]) -> None:
    counts = [len(array) if array.ndim else 0 for array in arrays]
    if any(count != steps for count in counts):
        raise ValueError(
            f"has {steps} steps, but {counts} rows in the other arrays, expected one row per step"
        )
