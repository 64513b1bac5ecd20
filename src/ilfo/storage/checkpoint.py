"""Checkpoints: the arrays of a pytree, bit for bit, in one uncompressed `.npz` without pickle.

Every array of the tree is one member, named by its path in the tree (`.policy.layers[0].weight`).
Everything else in the tree (Python numbers, functions, `None`) is not saved. On loading it comes
from the tree `like`, which the caller builds from the configuration. Three members are no leaves:

    format   integer, FORMAT_VERSION
    meta     the caller's dict, as JSON
    dtypes   leaf name -> dtype, as JSON, since NumPy cannot store bfloat16 or PRNG keys

Nothing that a checkpoint names is imported or executed.
"""

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.printable import brief
from ilfo.storage.atomic import atomic

FORMAT_VERSION = 1

_KEY = "key:"  # dtype of a typed PRNG key in `dtypes`, followed by its implementation's name
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # raised by zipfile for a flipped encryption bit
)

Tree = TypeVar("Tree")


class CheckpointError(ValueError):
    """A file is not a checkpoint, is damaged, or does not fit the tree it is loaded into."""


def save(path: str | os.PathLike[str], tree: Any, meta: Mapping[str, Any]) -> None:
    """Write the arrays of `tree` and the JSON-able `meta`, atomically replacing `path`."""
    names: dict[str, Any] = {}
    for name, leaf in _named_leaves(tree):
        if eqx.is_array(leaf):
            if name in names:
                raise CheckpointError(f"two leaves of the tree share the name {name!r}")
            names[name] = leaf
    dtypes = {name: _dtype_name(leaf) for name, leaf in names.items()}
    with atomic(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _write(archive, "format", np.array(FORMAT_VERSION))
        _write(archive, "meta", np.array(json.dumps(dict(meta))))
        _write(archive, "dtypes", np.array(json.dumps(dtypes)))
        for name, leaf in names.items():
            _write(archive, name, np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf))


def load(
    path: str | os.PathLike[str],
    like: Tree,
    prefix: str = "",
    ignored: Sequence[str] = (),
    stand_ins: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Tree, dict[str, Any]]:
    """Read `(tree, meta)`, the tree having the structure, shapes and dtypes of `like`.

    Array leaves of `like` may be arrays or `jax.ShapeDtypeStruct`s, as `eqx.filter_eval_shape`
    makes them. They are loaded as NumPy arrays where `like` holds NumPy arrays, else as JAX
    arrays. With `prefix=".policy"`, `like` is that part of the saved tree and the rest is not
    read. Parts of the saved tree that are `ignored` need not be in `like`. A leaf whose name ends
    in one of `stand_ins` and that is missing in the file is the one with the other ending.
    """
    leaves = [(prefix + name, leaf) for name, leaf in _named_leaves(like)]
    with _open(path) as archive:
        dtypes = _read_json(archive, "dtypes")
        kept = lambda name: not any(_under(part, name) for part in ignored)
        saved = [name for name in dtypes if _under(prefix, name) and kept(name)]
        there = lambda name: name if name in dtypes else _stand_in(name, stand_ins)
        _check_names(path, saved, [there(name) for name, leaf in leaves if _is_array(leaf)])
        restored = [
            _restore(archive, there(name), dtypes[there(name)], leaf) if _is_array(leaf) else leaf
            for name, leaf in leaves
        ]
        meta = _read_json(archive, "meta")
    return jax.tree.unflatten(jax.tree.structure(like), restored), meta


def read_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The `meta` of a checkpoint, without reading its arrays."""
    with _open(path) as archive:
        return _read_json(archive, "meta")


def _stand_in(name: str, stand_ins: Mapping[str, str]) -> str:
    for ending, other in stand_ins.items():
        if name.endswith(ending):
            return name.removesuffix(ending) + other
    return name


def _named_leaves(tree: Any) -> list[tuple[str, Any]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _dtype_name(leaf: Any) -> str:
    return f"{_KEY}{jax.random.key_impl(leaf)}" if _is_key(leaf) else str(leaf.dtype)


def _under(prefix: str, name: str) -> bool:
    # `.policy_old` is not below `.policy`: a path continues with a dot or a bracket.
    rest = name[len(prefix) :]
    return name.startswith(prefix) and (not rest or rest[0] in ".[")


def _write(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


@contextmanager
def _open(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    if not Path(path).is_file():
        raise CheckpointError(f"there is no checkpoint file {path}; check the path")
    try:
        archive = zipfile.ZipFile(path)
    except PermissionError:
        raise
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    with archive:
        if not {"format.npy", "meta.npy", "dtypes.npy"} <= set(archive.namelist()):
            raise CheckpointError(
                f"{path} is an archive but not an ilfo checkpoint: it lacks format, meta or dtypes"
            )
        _check_format(path, _read(archive, "format"))
        yield archive


def _check_format(path: str | os.PathLike[str], version: np.ndarray) -> None:
    if version.shape != () or version.dtype.kind != "i":
        raise CheckpointError(f"{path} is not an ilfo checkpoint: its format is {version!r}")
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has checkpoint format {version}, but this version of ilfo reads "
            f"{FORMAT_VERSION}; load it with the ilfo version that wrote it"
        )


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    try:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"member {name!r} is compressed, checkpoints are not")
        # Read all bytes first, so that their checksum is verified before NumPy parses a shape.
        data = archive.read(info)
        return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except KeyError as error:
        raise CheckpointError(
            f"{archive.filename} lists leaf {name!r} but does not contain it"
        ) from error
    # Also NumPy's parser of headers, which raises SyntaxError and tokenize's own error.
    except Exception as error:
        raise _damaged(archive.filename, error) from error


def _read_json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    text = _read(archive, name)
    try:
        data = json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise _damaged(archive.filename, error) from error
    if not isinstance(data, dict):
        raise CheckpointError(f"{archive.filename} is not an ilfo checkpoint: {name} is {data!r}")
    return data


def _damaged(path: object, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"{path} is damaged, incomplete or not a checkpoint ({brief(error)}); use another "
        "checkpoint"
    )


def _check_names(path: str | os.PathLike[str], saved: Iterable[str], wanted: Iterable[str]) -> None:
    missing = sorted(set(wanted) - set(saved))
    unexpected = sorted(set(saved) - set(wanted))
    if missing or unexpected:
        raise CheckpointError(
            f"{path} does not fit the tree it is loaded into: "
            f"missing in the file: {_some(missing)}; unexpected in it: {_some(unexpected)}; "
            "build the tree from the configuration the checkpoint was saved with"
        )


def _some(names: list[str], limit: int = 5) -> str:
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) or "none") + rest


def _restore(archive: zipfile.ZipFile, name: str, dtype: str, like: Any) -> Any:
    array = _read(archive, name)
    value = _wrap_key(archive, name, dtype, array) if dtype.startswith(_KEY) else array
    if array.dtype.kind == "V" and dtype == str(like.dtype):
        value = _view(archive, array, like.dtype)
    if value.shape != like.shape or value.dtype != like.dtype:
        raise CheckpointError(
            f"{archive.filename}: leaf {name!r} is {dtype}{list(value.shape)} in the file, "
            f"expected {like.dtype}{list(like.shape)}; build the tree from the configuration "
            "the checkpoint was saved with"
        )
    if isinstance(like, np.generic):
        return value[()]
    return value if isinstance(like, np.ndarray) else _to_jax(archive, name, value)


def _view(archive: zipfile.ZipFile, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    # bfloat16 and similar types are stored as raw bytes of the same width.
    try:
        return array.view(dtype)
    except ValueError as error:
        raise _damaged(archive.filename, error) from error


def _wrap_key(archive: zipfile.ZipFile, name: str, dtype: str, data: np.ndarray) -> jax.Array:
    try:
        return jax.random.wrap_key_data(jnp.asarray(data), impl=dtype.removeprefix(_KEY))
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"{archive.filename}: leaf {name!r} holds no usable random key ({error})"
        ) from error


def _to_jax(archive: zipfile.ZipFile, name: str, value: Any) -> jax.Array:
    array = jnp.asarray(value)
    if array.dtype != value.dtype:
        raise CheckpointError(
            f"{archive.filename}: leaf {name!r} is {value.dtype}, which JAX would convert to "
            f"{array.dtype}; set jax_enable_x64 before loading"
        )
    return array
