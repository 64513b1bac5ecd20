"""Demonstrations from the trajectories of the library `imitation`.

Its objects have `obs` (T+1, S), `acts` (T, ...), `terminal`, and perhaps `rews` (T,). It saves them
as a folder of Hugging Face's `datasets`: a `state.json` that lists Arrow files, with one row per
trajectory and a column per attribute. The column `infos` can hold any Python object, and decoding
one can run code, so it is not even read. Neither library needs to be installed.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.data.npz import DemonstrationError
from ilfo.data.trajectory import Trajectory, checked, valid_returns

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_NEEDED = ("obs", "terminal")
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # closes a stream; without it rows may be missing


def is_saved_by_imitation(path: Path) -> bool:
    """A folder of `datasets`, of one split or several, or a Parquet file of the same layout."""
    if path.suffix.lower() == ".parquet":
        return path.is_file() and set(_NEEDED) <= set(_parquet_columns(path))
    return (path / _STATE).is_file() or (path / _SPLITS).is_file()


def read_objects(
    objects: Iterable[Any], *, actions: bool
) -> tuple[list[Trajectory], np.ndarray | None]:
    """The trajectories, and their returns if all objects have rewards."""
    needed = (*_NEEDED, "acts") if actions else _NEEDED
    rewards: list[Any] = []

    def raw() -> Iterator[Trajectory]:
        for index, each in enumerate(objects):
            if isinstance(each, Mapping):
                each = SavedRow(**{name: each.get(name) for name in (*needed, "rews")})
            missing = [name for name in needed if getattr(each, name, None) is None]
            if missing:
                raise ValueError(
                    f"trajectory {index}: is a {type(each).__name__} without {', '.join(missing)}; "
                    f"expected objects with {', '.join(needed)}"
                )
            rewards.append(getattr(each, "rews", None))
            yield Trajectory(each.obs, each.terminal, each.acts if actions else None)

    trajectories = list(checked(raw()))
    if any(each is None for each in rewards):
        return trajectories, None
    returns = [
        _return(index, each, len(trajectory.states) - 1)
        for index, (each, trajectory) in enumerate(zip(rewards, trajectories, strict=True))
    ]
    return trajectories, valid_returns(returns, len(trajectories))


def _return(index: int, given: Any, steps: int) -> float:
    try:
        rewards = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"trajectory {index}: rews are not an array: {error}") from error
    if rewards.shape != (steps,) or rewards.dtype.kind not in "biuf":
        raise ValueError(
            f"trajectory {index}: rews have dtype {rewards.dtype} and shape {rewards.shape}, "
            f"expected one number for each of {steps} steps"
        )
    with np.errstate(invalid="ignore", over="ignore"):  # valid_returns reports it
        return float(rewards.astype(np.float64).sum())


def read_saved(folder: Path, *, actions: bool) -> tuple[list[Trajectory], np.ndarray | None]:
    """Reads what `imitation.data.serialize.save` wrote."""
    with needed_from("parquet", f"reading {folder}"):
        import pyarrow  # noqa: F401
    wanted = ("obs", "terminal", "rews", *(["acts"] if actions else []))
    try:
        rows = [row for file in _files(folder) for row in _rows(file, wanted)]
        return read_objects(rows, actions=actions)
    except ValueError as error:
        raise DemonstrationError(f"{folder}: {error}") from error


def _parquet_columns(path: Path) -> list[str]:
    """None where it cannot be read: whoever reads it as a table will say why."""
    try:
        import pyarrow.parquet

        return pyarrow.parquet.read_schema(path).names
    # Damaged bytes surface as several unrelated exceptions of pyarrow.
    except Exception:
        return []


def _files(folder: Path) -> list[Path]:
    """The listed files alone: `datasets` leaves caches of the same kind beside them."""
    if folder.is_file():
        return [folder]
    if (folder / _SPLITS).is_file():
        splits = sorted(each.parent for each in folder.glob(f"*/{_STATE}"))
        if len(splits) != 1:
            found = ", ".join(each.name for each in splits)
            raise ValueError(f"it holds the splits {found}; choose one of these folders")
        folder = splits[0]
    try:
        state = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        names = [str(each["filename"]) for each in state["_data_files"]]
        chosen = state.get("_indices_data_files")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{_STATE} does not list the files of a saved dataset: {error}") from error
    if chosen:
        raise ValueError("its rows are a selection; save the dataset again by save_to_disk")
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise ValueError(f"{_STATE} lists {name!r}, expected a file in the same folder")
    return [folder / name for name in names]


@dataclass(frozen=True)
class SavedRow:
    obs: np.ndarray | None
    terminal: Any
    rews: np.ndarray | None = None
    acts: np.ndarray | None = None


def _rows(path: Path, wanted: tuple[str, ...]) -> list[SavedRow]:
    names, table = (_parquet if path.suffix.lower() == ".parquet" else _stream)(path, wanted)
    missing = [name for name in wanted if name not in names and name != "rews"]
    if missing or len(set(names)) < len(names):
        raise ValueError(f"{path.name} has the columns {names}, expected each of {wanted} once")
    columns = {name: table.column(name) for name in wanted if name in names}
    return [
        SavedRow(**{name: _value(column[index]) for name, column in columns.items()})
        for index in range(table.num_rows)
    ]


def _parquet(path: Path, wanted: tuple[str, ...]) -> tuple[list[str], Any]:
    import pyarrow.parquet

    names = _parquet_columns(path)
    try:
        table = pyarrow.parquet.read_table(path, columns=[n for n in wanted if n in names])
        table.validate(full=True)
    # Damaged bytes surface as several unrelated exceptions of pyarrow.
    except Exception as error:
        raise ValueError(f"{path.name} cannot be read as Parquet: {error}") from error
    return names, table


def _stream(path: Path, wanted: tuple[str, ...]) -> tuple[list[str], Any]:
    import pyarrow as pa

    with open(path, "rb") as opened:
        opened.seek(-min(len(_END), path.stat().st_size), os.SEEK_END)
        end = opened.read()
    if end != _END:
        raise ValueError(f"{path.name} was not written to its end")
    try:
        with pa.OSFile(str(path)) as file:
            names = pa.ipc.open_stream(file).schema.names
        kept = [index for index, name in enumerate(names) if name in wanted]
        options = pa.ipc.IpcReadOptions(included_fields=kept)
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_stream(file, options=options).read_all()
        table.validate(full=True)
    # Damaged bytes surface as several unrelated exceptions of pyarrow.
    except Exception as error:
        raise ValueError(f"{path.name} cannot be read as Arrow: {error}") from error
    return names, table


def _value(scalar: Any) -> Any:
    """One row's entry: an array of as many axes as lists are nested, or a plain value."""
    import pyarrow as pa

    if isinstance(scalar, pa.ExtensionScalar):
        scalar = scalar.value
    if isinstance(scalar, pa.ListScalar):
        return None if scalar.values is None else _dense(scalar.values)
    return None if scalar is None else scalar.as_py()


def _dense(array: Any) -> np.ndarray:
    from pyarrow import types

    kind = array.type
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return array.to_numpy(zero_copy_only=False)
    lengths = set(array.value_lengths().to_pylist())
    if len(lengths) > 1 or None in lengths:
        raise ValueError(f"a list holds lists of different lengths {lengths}, expected an array")
    inner = _dense(array.flatten())
    return inner.reshape(len(array), *lengths or (0,), *inner.shape[1:])
