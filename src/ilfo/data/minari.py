"""Demonstrations from and to Minari, the dataset format of the Farama Foundation.

A dataset is read directly from its HDF5 file, because Minari itself always decodes the actions too.
Minari requires actions and rewards, which demonstrations may lack. On writing, missing actions
become vectors of length 0 and missing rewards NaN. If only the return is known, it is the reward of
the last step.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from ilfo.common import flattening
from ilfo.common.optional import needed_from
from ilfo.common.printable import brief
from ilfo.data.npz import MINARI, DemonstrationError, decode_metadata, joined_actions, naming_large
from ilfo.data.statements import NAMES, check_statements
from ilfo.data.trajectory import Trajectory, checked, valid_returns
from ilfo.data.unpacking import check_size

_FILE = "main_data.hdf5"
_METADATA = "ilfo_metadata"
_ITEM = "_index_{}"
_ID = re.compile(r"(\w[\w.-]*/)*\w[\w.-]*-v\d+")


def read_minari(
    dataset: Any, *, actions: bool, large: bool = False
) -> tuple[list[Trajectory], np.ndarray | None, dict[str, Any]]:
    """The trajectories, their returns if the rewards are known, and the metadata."""
    with needed_from("minari", "reading a Minari dataset"):
        import h5py
        import minari
    if isinstance(dataset, str):
        dataset = _open(dataset)
    if not isinstance(dataset, minari.MinariDataset):
        raise ValueError(
            f"dataset is a {type(dataset).__name__}, expected a MinariDataset or its id"
        )
    name, storage = dataset.spec.dataset_id, dataset.storage
    path = Path(storage.data_path, _FILE)
    try:
        _check_spaces(storage, actions)
        try:
            with h5py.File(path, "r") as file:
                groups = [file[f"episode_{number}"] for number in dataset.episode_indices]
                if not large:
                    with naming_large(f"{MINARI}{name}"):
                        check_size(path, sum(_declared_size(group, actions) for group in groups))
                episodes = [_episode(x, storage.observation_space, actions) for x in groups]
        # HDF5 reports damage as OSError, RuntimeError and KeyError.
        except (OSError, RuntimeError, KeyError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from error
        trajectories = list(checked(map(_trajectory, range(len(episodes)), episodes)))
        returns = valid_returns(_sums_of_rewards(episodes), len(episodes))
        text = storage.metadata.get(_METADATA)
        metadata = _metadata(name, storage) if text is None else decode_metadata(text)
        check_statements(metadata)
    except DemonstrationError:
        raise
    except ValueError as error:
        raise DemonstrationError(f"Minari dataset {name}: {error}") from error
    return trajectories, returns, metadata


def _open(name: str) -> Any:
    import minari
    from minari.dataset.minari_storage import MinariStorage
    from minari.storage.datasets_root_dir import get_dataset_path

    folder = get_dataset_path(name) / "data"
    if not folder.exists():
        raise FileNotFoundError(
            f"there is no Minari dataset {name!r} on this machine; download it with: "
            f"minari download {name}"
        )
    try:
        # Without them Minari would make the environment, which imports what the file names.
        missing = {"observation_space", "action_space"} - set(
            MinariStorage.read_raw_metadata(folder)
        )
        if missing:
            raise ValueError(f"its metadata has no {', '.join(sorted(missing))}")
        opened = minari.load_dataset(name)
        opened.spec.dataset_id  # noqa: B018 - raises what the metadata lacks
        return opened
    # Minari checks what it reads with assertions; the others come from JSON and NumPy.
    except (
        *(ValueError, TypeError, KeyError, AttributeError, AssertionError),
        *(OverflowError, RecursionError),
    ) as error:
        said = f"Minari dataset {name} cannot be opened: {brief(error)}"
        raise DemonstrationError(said) from error


def _check_spaces(storage: Any, actions: bool) -> None:
    if storage.FORMAT != "hdf5":
        raise ValueError(
            f"its data_format is {storage.FORMAT!r}, expected 'hdf5', whose states can be read "
            "without the actions; pass its episodes to Demonstrations.from_arrays"
        )
    observations = storage.observation_space
    if not isinstance(observations, spaces.Box) and not flattening.is_composite(observations):
        raise ValueError(
            f"its observations are {observations}, expected a Box, or a Dict or Tuple of them; "
            "flatten them to vectors and pass these to Demonstrations.from_arrays"
        )
    shape = storage.action_space.shape
    if actions and (shape is None or 0 in shape):
        raise ValueError(f"its actions are {storage.action_space}, expected arrays of numbers")


def _metadata(name: str, storage: Any) -> dict[str, Any]:
    """What is known of a dataset that `ilfo` has not written."""
    space = storage.observation_space
    names = flattening.names(space) if flattening.is_composite(space) else None
    return {"minari": name} | ({} if names is None else {NAMES: list(names)})


def _numbers(actions: bool) -> list[str]:
    """What is read of an episode beside its observations."""
    return ["rewards", "terminations", *(["actions"] if actions else [])]


def _declared_size(group: Any, actions: bool) -> int:
    """Bytes that an episode takes in memory; HDF5 compresses, and leaves out what is all alike."""
    read = [group[name] for name in ("observations", *_numbers(actions))]
    total = 0
    while read:
        part = read.pop()
        if hasattr(part, "dtype"):
            total += part.size * part.dtype.itemsize
        else:
            read += part.values()
    return total


def _episode(group: Any, observations: spaces.Space, actions: bool) -> dict[str, np.ndarray]:
    states = flattening.flat_rows(observations, group["observations"], _ITEM)
    return {"observations": states} | {name: np.asarray(group[name]) for name in _numbers(actions)}


def _sums_of_rewards(episodes: list[dict[str, np.ndarray]]) -> list[Any] | None:
    """The return of each episode; None if all rewards are NaN, which means unknown."""
    rewards = [np.asarray(episode["rewards"], np.float64) for episode in episodes]
    unknown = all(np.isnan(column).all() for column in rewards)
    return None if unknown else [column.sum() for column in rewards]


def _trajectory(index: int, episode: dict[str, np.ndarray]) -> Trajectory:
    states, terminations = episode["observations"], episode["terminations"].astype(bool)
    steps = len(terminations)
    if len(states) != steps + 1 or len(episode["rewards"]) != steps or not steps:
        raise ValueError(
            f"trajectory {index}: has {len(states)} observations, {len(episode['rewards'])} "
            f"rewards and {steps} terminations, expected one observation more than the others"
        )
    if terminations[:-1].any():
        raise ValueError(
            f"trajectory {index}: terminates at step {int(np.argmax(terminations)) + 1} of {steps} "
            "and continues; split the episode there"
        )
    return Trajectory(states, bool(terminations[-1]), episode.get("actions"))


def write_minari(
    dataset_id: str,
    demonstrations: Iterable[Trajectory],
    returns: np.ndarray | None,
    metadata: str,
    *,
    env: Any,
    action_space: spaces.Space | None,
    details: dict[str, Any],
) -> None:
    """Create a local Minari dataset; `details` are passed on to Minari."""
    with needed_from("minari", "writing a Minari dataset"):
        import h5py  # noqa: F401
        import minari
        from minari.data_collector import EpisodeBuffer
        from minari.dataset.minari_dataset import parse_dataset_id
    # Minari creates a folder before it rejects an id, and accepts some that are no file names.
    try:
        if not _ID.fullmatch(dataset_id):
            raise ValueError("a part of it is not a valid folder name")
        parse_dataset_id(dataset_id)
    except ValueError as error:
        raise ValueError(
            f"dataset_id is {dataset_id!r}, expected the form namespace/name-v0, with a namespace "
            f"of several letters: {error}"
        ) from error
    trajectories = list(demonstrations)
    totals = [None] * len(trajectories) if returns is None else returns.tolist()
    buffer = [
        EpisodeBuffer(
            observations=trajectory.states,
            actions=_actions(trajectory),
            rewards=_rewards(len(trajectory.states) - 1, total),
            terminations=_at_the_end(trajectory, trajectory.terminal),
            truncations=_at_the_end(trajectory, not trajectory.terminal),
        )
        for trajectory, total in zip(trajectories, totals, strict=True)
    ]
    dim = trajectories[0].states.shape[1]
    dataset = minari.create_dataset_from_buffers(
        dataset_id,
        buffer,
        env=env,
        observation_space=spaces.Box(-np.inf, np.inf, (dim,), np.float32),
        action_space=_action_space(trajectories, action_space, env),
        **details,
    )
    dataset.storage.update_metadata({_METADATA: metadata})


def _action_space(
    trajectories: list[Trajectory], given: spaces.Space | None, env: Any
) -> spaces.Space | None:
    """The action space to store; None leaves it to `env`. Checks that the actions can be saved."""
    actions = [trajectory.actions for trajectory in trajectories if trajectory.actions is not None]
    if not actions:
        return spaces.Box(-np.inf, np.inf, (0,), np.float32)
    joined = joined_actions(actions, len(trajectories))
    return _space_of(joined) if given is None and env is None else given


def _space_of(actions: np.ndarray) -> spaces.Box:
    """An unbounded Box: the recorded actions do not show which others are possible."""
    dtype: Any = actions.dtype
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, actions.shape[1:], dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return spaces.Box(limits.min, limits.max, actions.shape[1:], dtype)
    raise ValueError(f"actions have dtype {dtype}; pass their space with action_space=...")


def _actions(trajectory: Trajectory) -> np.ndarray:
    """The actions; empty vectors if there are none."""
    if trajectory.actions is not None:
        return trajectory.actions
    return np.zeros((len(trajectory.states) - 1, 0), np.float32)


def _rewards(steps: int, total: float | None) -> np.ndarray:
    if total is None:
        return np.full(steps, np.nan)
    return np.append(np.zeros(steps - 1), total)


def _at_the_end(trajectory: Trajectory, value: bool) -> np.ndarray:
    flags = np.zeros(len(trajectory.states) - 1, bool)
    flags[-1] = value
    return flags
