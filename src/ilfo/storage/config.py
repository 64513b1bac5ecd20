"""Settings as JSON and back, and replacing one value of nested settings.

A spec is a frozen dataclass or an `eqx.Module` whose fields hold hyper-parameters. In JSON

    spec         {"type": "TRPO", "kl": 0.01, ...}
    tuple        [64, 64]
    callable     {"function": "tanh"}, its name in a table that the caller passes
    jax array    {"array": 0.1, "dtype": "float32"}
    inf, nan     {"float": "inf"}, for which JSON has no number

and bool, int, float, str and None are themselves. Names in a file are only ever looked up in the
caller's tables, never imported or evaluated. Values are checked against the fields' annotations.
"""

import collections.abc
import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.printable import brief
from ilfo.storage.renamed import up_to_date

Functions = Mapping[str, Callable[..., Any]]
Spec = TypeVar("Spec")

_NO_FUNCTIONS: Functions = types.MappingProxyType({})


class ConfigError(ValueError):
    """A configuration cannot be written, read or changed."""


class _Tables(NamedTuple):
    classes: Mapping[str, type]
    functions: Functions


def to_dict(spec: Any, functions: Functions = _NO_FUNCTIONS) -> dict[str, Any]:
    """`spec` as a JSON-able dict; `functions` names the callables that `from_dict` can find."""
    if not _is_spec(spec):
        raise ConfigError(f"expected a dataclass or eqx.Module to write, got {spec!r}")
    return _encode_spec(spec, "", functions)


def from_dict(data: Any, classes: Mapping[str, type], functions: Functions = _NO_FUNCTIONS) -> Any:
    """The spec that `to_dict` wrote.

    A callable that was in no table when it was written has to be passed again, under the path of
    its field: `functions={"policy.activation": my_activation}`.
    """
    if not isinstance(data, dict) or "type" not in data:
        raise ConfigError(f"expected a JSON object with a 'type', got {data!r}")
    try:
        return _decode_spec(up_to_date(data), "", _Tables(classes, functions))
    except RecursionError as error:
        raise ConfigError("the configuration is nested too deeply") from error


def lookup(spec: Any, path: str) -> Any:
    """The value of the field at the dotted `path`."""
    where = ""
    for name in path.split("."):
        spec, where = _field(spec, name, where)
    return spec


def annotation(spec: Any, path: str) -> Any:
    """The annotation of the field at the dotted `path`."""
    inside, _, name = path.rpartition(".")
    owner = lookup(spec, inside) if inside else spec
    _field(owner, name, inside)
    return _annotations(type(owner))[name]


def override(spec: Spec, path: str, value: Any) -> Spec:
    """A copy of `spec` with the field at the dotted `path` replaced, its type checked."""
    return _override(spec, path.split("."), value, "")


def _override(spec: Any, names: list[str], value: Any, where: str) -> Any:
    name, rest = names[0], names[1:]
    old, here = _field(spec, name, where)
    new = _override(old, rest, value, here) if rest else _like_array(old, value)
    new = _conform(new, _annotations(type(spec))[name], here)
    return _build(lambda: dataclasses.replace(spec, **{name: new}), here)


def _field(spec: Any, name: str, where: str) -> tuple[Any, str]:
    """The value of a field, and its path below `where`."""
    here = _join(where, name)
    if not _is_spec(spec):
        raise ConfigError(f"{here}: {where or 'the spec'} is {spec!r}, which has no fields")
    _check_field(type(spec), name, here)
    return getattr(spec, name), here


def _like_array(old: Any, value: Any) -> Any:
    # A field holds an array when it is swept under vmap: a new number becomes an array too.
    if not isinstance(old, jax.Array) or old.shape != () or isinstance(value, bool):
        return value
    kinds = (int, float) if jnp.issubdtype(old.dtype, jnp.floating) else int
    return jnp.asarray(value, old.dtype) if isinstance(value, kinds) else value


# Writing


def _encode(value: Any, where: str, functions: Functions) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float, np.bool_, np.integer, np.floating)):
        return _encode_number(value)
    if _is_spec(value):
        return _encode_spec(value, where, functions)
    if isinstance(value, tuple):
        return [_encode(item, f"{where}[{i}]", functions) for i, item in enumerate(value)]
    if isinstance(value, jax.Array) and not jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return {"array": _encode_list(value.tolist()), "dtype": str(value.dtype)}
    if callable(value):
        return _encode_function(value, functions)
    raise ConfigError(
        f"{where} holds {value!r}; a spec may hold bool, int, float, str, None, tuples, "
        "callables, jax arrays and other specs"
    )


def _encode_number(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    finite = not isinstance(plain, float) or math.isfinite(plain)
    return plain if finite else {"float": repr(plain)}


def _encode_list(values: Any) -> Any:
    if isinstance(values, list):
        return [_encode_list(value) for value in values]
    return _encode_number(values)


def _encode_spec(spec: Any, where: str, functions: Functions) -> dict[str, Any]:
    data: dict[str, Any] = {"type": type(spec).__name__}
    for name in _fields(type(spec)):
        here = _join(where, name)
        if name == "type":
            raise ConfigError(f"{here}: a spec cannot have a field named 'type'; rename it")
        data[name] = _encode(getattr(spec, name), here, functions)
    return data


def _encode_function(function: Callable[..., Any], functions: Functions) -> dict[str, Any]:
    for name, known in functions.items():
        if known is function:
            return {"function": name}
    qualified = getattr(function, "__qualname__", type(function).__qualname__)
    return {"function": None, "repr": qualified}


# Reading


def _decode(data: Any, where: str, tables: _Tables) -> Any:
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return tuple(_decode(item, f"{where}[{i}]", tables) for i, item in enumerate(data))
    if isinstance(data, dict) and "type" in data:
        return _decode_spec(data, where, tables)
    if isinstance(data, dict) and "function" in data:
        return _decode_function(data, where, tables.functions)
    if isinstance(data, dict) and "array" in data:
        return _decode_array(data, where)
    if isinstance(data, dict) and data.get("float") in ("inf", "-inf", "nan"):
        return float(data["float"])
    raise ConfigError(f"{where}: {data!r} is not a valid config value")


def _decode_spec(data: dict[str, Any], where: str, tables: _Tables) -> Any:
    kind = tables.classes.get(data["type"]) if isinstance(data["type"], str) else None
    if kind is None or not dataclasses.is_dataclass(kind):
        known = ", ".join(tables.classes)
        raise ConfigError(
            f"{_join(where, 'type')}: unknown class {data['type']!r}; known are {known}"
        )
    hints, values = _annotations(kind), {}
    for name, item in data.items():
        if name != "type":
            here = _join(where, name)
            _check_field(kind, name, here)
            values[name] = _conform(_decode(item, here, tables), hints[name], here)
    for name, field in _fields(kind).items():
        no_default = field.default is field.default_factory is dataclasses.MISSING
        if name not in values and no_default:
            raise ConfigError(f"{_join(where, name)} is missing; {kind.__name__} has no default")
    return _build(lambda: kind(**values), where or kind.__name__)


def _decode_function(data: dict[str, Any], where: str, functions: Functions) -> Any:
    name = data["function"]
    if name is None and where in functions:
        return functions[where]
    if name is None:
        raise ConfigError(
            f"{where}: its function {data.get('repr')} could not be stored by name; pass it "
            f"again, as functions[{where!r}]"
        )
    if not isinstance(name, str) or name not in functions:
        raise ConfigError(f"{where}: unknown function {name!r}; known are {', '.join(functions)}")
    return functions[name]


def _decode_array(data: dict[str, Any], where: str) -> jax.Array:
    try:
        dtype = jnp.dtype(data.get("dtype", ""))
        array = jnp.asarray(np.array(_decode_list(data["array"]), dtype))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {data!r} is not an array with its dtype ({error})") from error
    if array.dtype != dtype:
        raise ConfigError(f"{where}: {dtype} arrays need jax_enable_x64, which is off")
    return array


def _decode_list(values: Any) -> Any:
    if isinstance(values, list):
        return [_decode_list(value) for value in values]
    return float(values["float"]) if isinstance(values, dict) else values


# What fields exist, and what they may hold


def _is_spec(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _fields(kind: Any) -> dict[str, dataclasses.Field[Any]]:
    # Fields that the class computes itself are not stored.
    return {field.name: field for field in dataclasses.fields(kind) if field.init}


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _check_field(kind: type, name: str, here: str) -> None:
    if name not in _fields(kind):
        available = ", ".join(_fields(kind)) or "none"
        raise ConfigError(f"{here}: {kind.__name__} has no field {name!r}; it has {available}")


def _annotations(kind: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError as error:
        raise ConfigError(
            f"the annotations of {kind.__name__} cannot be read ({error}); "
            "import what they name at run time"
        ) from error


def _build(make: Callable[[], Any], where: str) -> Any:
    try:
        return make()
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {brief(error)}") from error


def _conform(value: Any, hint: Any, where: str) -> Any:
    """`value` if the annotation allows it, converted to float if it only allows that."""
    if _allows(hint, value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and _allows(hint, 0.0):
        with suppress(OverflowError):  # an integer may be larger than any float
            return float(value)
    expected = hint.__name__ if isinstance(hint, type) else str(hint)
    raise ConfigError(f"{where}: expected {expected}, got {value!r} ({type(value).__name__})")


def _allows(hint: Any, value: Any) -> bool:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_allows(arg, value) for arg in args)
    if origin is typing.Annotated:
        return _allows(args[0], value)
    if origin is typing.Literal:
        return any(value == arg and type(value) is type(arg) for arg in args)
    if origin is tuple:
        return _allows_tuple(args, value)
    if hint is collections.abc.Callable or origin is collections.abc.Callable:
        return callable(value)
    if hint in (int, float) and isinstance(value, bool):
        return False
    kind = type(None) if hint is None else origin or hint
    # Any, type variables and similar annotations cannot be checked.
    return isinstance(value, kind) if isinstance(kind, type) else True


def _allows_tuple(args: tuple[Any, ...], value: Any) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(args) == 2 and args[1] is Ellipsis:
        return all(_allows(args[0], item) for item in value)
    return len(args) == len(value) and all(map(_allows, args, value))
