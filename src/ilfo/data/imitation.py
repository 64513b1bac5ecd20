"""Demonstrations from trajectories of the library `imitation`, in memory or saved by it.

Its objects have `obs` (T+1, S), `acts` (T, ...), `terminal`, and optionally `rews` (T,). It saves
them as a folder of Hugging Face's `datasets`: a `state.json` that lists Arrow files, with one row
per trajectory and a column per attribute. The column `infos` may hold any Python object, and
decoding one can run code, so it is never read. Neither library needs to be installed.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.common.printable import brief
from ilfo.data.arrow_sizes import declared_size
from ilfo.data.npz import DemonstrationError, naming_large, naming_memory
from ilfo.data.trajectory import Trajectory, checked, valid_returns
from ilfo.data.unpacking import check_size, parquet_size

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_NEEDED = ("obs", "terminal")
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # end of a stream; without it rows may be missing


def is_saved_by_imitation(path: Path) -> bool:
    """Whether this is a folder of `datasets`, with or without splits, or a Parquet file of the same
    layout."""
    if _is_parquet(path):
        return path.is_file() and set(_NEEDED) <= set(_parquet_columns(path))
    return (path / _STATE).is_file() or (path / _SPLITS).is_file()


def read_objects(
    objects: Iterable[Any], *, actions: bool
) -> tuple[list[Trajectory], np.ndarray | None]:
    """The trajectories, and their returns if all objects have rewards."""
    needed = (*_NEEDED, "acts") if actions else _NEEDED
    rewards: list[Any] = []

    def raw() -> Iterator[Trajectory]:
        for index, item in enumerate(objects):
            if isinstance(item, Mapping):
                item = SavedRow(**{name: item.get(name) for name in (*needed, "rews")})
            missing = [name for name in needed if getattr(item, name, None) is None]
            if missing:
                raise ValueError(
                    f"trajectory {index}: is a {type(item).__name__} without {', '.join(missing)}; "
                    f"expected objects with {', '.join(needed)}"
                )
            rewards.append(getattr(item, "rews", None))
            yield Trajectory(item.obs, item.terminal, item.acts if actions else None)

    trajectories = list(checked(raw()))
    if any(recorded is None for recorded in rewards):
        return trajectories, None
    returns = [
        _return(index, recorded, len(trajectory.states) - 1)
        for index, (recorded, trajectory) in enumerate(zip(rewards, trajectories, strict=True))
    ]
    return trajectories, valid_returns(returns, len(trajectories))


def _return(index: int, given: Any, steps: int) -> float:
    try:
        rewards = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"trajectory {index}: rews is not an array: {error}") from error
    if rewards.shape != (steps,) or rewards.dtype.kind not in "biuf":
        raise ValueError(
            f"trajectory {index}: rews has dtype {rewards.dtype} and shape {rewards.shape}, "
            f"expected one number for each of {steps} steps"
        )
    with np.errstate(invalid="ignore", over="ignore"):  # valid_returns reports it
        return float(rewards.astype(np.float64).sum())


def read_saved(
    folder: Path, *, actions: bool, large: bool = False
) -> tuple[list[Trajectory], np.ndarray | None]:
    """The trajectories and returns that `imitation.data.serialize.save` wrote."""
    with needed_from("parquet", f"reading {folder}"):
        import pyarrow  # noqa: F401
    wanted = ("obs", "terminal", "rews", *(["acts"] if actions else []))
    try:
        with naming_memory(folder):
            files = _files(folder)
            for file in files:
                if not _is_parquet(file):
                    _check_end(file)
                if not large:
                    _check_size(folder, file)
            rows = (row for file in files for row in _rows(file, wanted))
            return read_objects(rows, actions=actions)
    except DemonstrationError:
        raise
    except ValueError as error:
        raise DemonstrationError(f"{folder}: {brief(error)}") from error


def _parquet_columns(path: Path) -> list[str]:
    """The column names; none if the file cannot be read, which is reported when it is read as a
    table."""
    try:
        import pyarrow.parquet

        return pyarrow.parquet.read_schema(path).names
    # Damaged bytes surface as several unrelated exceptions of pyarrow.
    except Exception:
        return []


def _check_size(folder: Path, path: Path) -> None:
    """Raise DemonstrationError if a file says that it unpacks to far more than its size."""
    import pyarrow.parquet

    with _damage(path):
        read = pyarrow.parquet.read_metadata
        declared = parquet_size(read(path)) if _is_parquet(path) else declared_size(path)
    with naming_large(folder):
        check_size(path, declared)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turns the many exceptions that pyarrow raises for damaged files into ValueError."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        kind = "Parquet" if _is_parquet(path) else "Arrow"
        raise ValueError(f"{path.name} cannot be read as {kind}: {brief(error)}") from error


def _check_end(path: Path) -> None:
    with open(path, "rb") as opened:
        opened.seek(-min(len(_END), path.stat().st_size), os.SEEK_END)
        end = opened.read()
    if end != _END:
        raise ValueError(f"{path.name} is incomplete: its end is missing")


def _files(folder: Path) -> list[Path]:
    """The files that `state.json` lists; `datasets` stores caches of the same kind beside them."""
    if folder.is_file():
        return [folder]
    if (folder / _SPLITS).is_file():
        splits = sorted(state.parent for state in folder.glob(f"*/{_STATE}"))
        if len(splits) != 1:
            names = ", ".join(split.name for split in splits)
            raise ValueError(f"it holds the splits {names}; choose one of these folders")
        folder = splits[0]
    try:
        content = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        files = [str(file["filename"]) for file in content["_data_files"]]
        selection = content.get("_indices_data_files")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{_STATE} does not list the files of a saved dataset: {brief(error)}"
        ) from error
    if selection:
        raise ValueError(
            "it is a selection of rows of another dataset; call flatten_indices() on the dataset "
            "and save it again"
        )
    for name in files:
        if Path(name).name != name or not _is_file(folder / name):
            raise ValueError(f"{_STATE} lists {name!r}, expected a file in the same folder")
    if len(set(files)) < len(files):
        raise ValueError(f"{_STATE} lists a file twice, expected every file once")
    return [folder / name for name in files]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no system has files of such names
        return False


@dataclass(frozen=True)
class SavedRow:
    """One saved trajectory, with the attributes of imitation's own class."""

    obs: np.ndarray | None
    terminal: Any
    rews: np.ndarray | None = None
    acts: np.ndarray | None = None


def _rows(path: Path, wanted: tuple[str, ...]) -> Iterator[SavedRow]:
    with _damage(path):
        schema = _schema(path)
    names = schema.names
    missing = [name for name in wanted if name not in names and name != "rews"]
    if missing or len(set(names)) < len(names):
        raise ValueError(f"{path.name} has the columns {names}, expected each of {wanted} once")
    kept = [name for name in wanted if name in names]
    for name in kept:
        _check_kind(path, schema.field(name))
    with _damage(path):
        table = _table(path, schema, kept)
    columns = {name: table.column(name) for name in kept}
    for index in range(table.num_rows):
        yield SavedRow(**{name: _value(column[index]) for name, column in columns.items()})


def _schema(path: Path) -> Any:
    import pyarrow.parquet

    if _is_parquet(path):
        return pyarrow.parquet.read_schema(path)
    with pyarrow.OSFile(str(path)) as file:
        return pyarrow.ipc.open_stream(file).schema


def _check_kind(path: Path, field: Any) -> None:
    """Raise ValueError for anything but numbers, and lists of them, each with entries of its own.

    Rows of a dictionary, of a view or of text in Parquet may share their entries, so that a small
    file becomes a large array. Nothing saves states in such a way.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = field.type
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif _is_list(kind):
            kind = kind.value_type
        else:
            break
    plain = (types.is_null, types.is_boolean, types.is_integer, types.is_floating)
    if not any(is_one(kind) for is_one in plain):
        raise ValueError(
            f"{path.name} has a column {field.name!r} of type {field.type}, expected numbers or "
            "lists of numbers; save it with such a column"
        )


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _table(path: Path, schema: Any, kept: list[str]) -> Any:
    import pyarrow.parquet

    if _is_parquet(path):
        table = pyarrow.parquet.read_table(path, columns=kept)
    else:
        fields = [schema.names.index(name) for name in kept]
        options = pyarrow.ipc.IpcReadOptions(included_fields=fields)
        with pyarrow.OSFile(str(path)) as file:
            table = pyarrow.ipc.open_stream(file, options=options).read_all()
    table.validate(full=True)
    return table


def _value(scalar: Any) -> Any:
    """An entry of one row: nested lists as an array, anything else as a plain value."""
    import pyarrow as pa

    if isinstance(scalar, pa.ExtensionScalar):
        scalar = scalar.value
    if isinstance(scalar, pa.ListScalar):
        return None if scalar.values is None else _dense(scalar.values)
    return None if scalar is None else scalar.as_py()


def _dense(array: Any) -> np.ndarray:
    if not _is_list(array.type):
        return array.to_numpy(zero_copy_only=False)
    lengths = set(array.value_lengths().to_pylist())
    if len(lengths) > 1 or None in lengths:
        raise ValueError(f"nested lists have different lengths {lengths}, expected an array")
    inner = _dense(array.flatten())
    return inner.reshape(len(array), *lengths or (0,), *inner.shape[1:])
