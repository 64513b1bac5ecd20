"""Reading plain data from a pickle without unpickling it.

A pickle is a small program, and running it can call any function. Here its instructions are only
parsed: numbers, text, containers and NumPy arrays are built by the functions of this module, and a
pickle with anything else is rejected. Nothing is imported or called by name.
"""

import pickletools
from collections.abc import Callable
from typing import IO, Any

import numpy as np

_MARK = object()


class PickleError(ValueError):
    """A pickle holds more than plain data or is damaged."""


class _Name(str):
    """Something that the pickle refers to by module and name."""


class _Dtype:
    """An unfinished NumPy dtype; a second instruction sets its byte order."""

    def __init__(self, code: Any, *_: Any):
        self.dtype = np.dtype(_text(code))
        if self.dtype.kind not in "biuf":
            raise PickleError(f"it holds an array of type {self.dtype}, not of numbers")

    def build(self, state: Any) -> None:
        if _text(state[1]) == ">":
            self.dtype = self.dtype.newbyteorder(">")


class _Array:
    """An unfinished NumPy array; a second instruction sets shape, dtype and bytes."""

    array: np.ndarray | None = None

    def build(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.array = _from_bytes(data, kind, shape, "F" if fortran else "C").array


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _from_bytes(data: Any, kind: Any, shape: Any, order: Any) -> _Array:
    if not isinstance(kind, _Dtype) or not isinstance(data, (bytes, bytearray, str)):
        raise PickleError("it holds an array of Python objects, not of numbers")
    raw = data.encode("latin-1") if isinstance(data, str) else bytes(data)
    result = _Array()
    result.array = np.frombuffer(raw, kind.dtype).reshape(shape, order=order)
    return result


def _encode(text: str, codec: str) -> bytes:
    if codec != "latin1":
        raise PickleError(f"it holds bytes in the codec {codec!r}")
    return text.encode("latin-1")


def _scalar(kind: _Dtype, data: bytes) -> Any:
    return np.frombuffer(data, kind.dtype)[0]


_BUILDERS: dict[str, Callable[..., Any]] = {
    "_codecs encode": _encode,
    "__builtin__ bytes": bytes,  # without arguments: how old protocols write empty bytes
    "collections OrderedDict": lambda pairs=(): dict(pairs),
    "numpy dtype": _Dtype,
    "numpy.core.multiarray _reconstruct": lambda *_: _Array(),
    "numpy.core.multiarray scalar": _scalar,
    "numpy.core.numeric _frombuffer": _from_bytes,
}
_BUILDERS |= {
    name.replace("numpy.core", "numpy._core"): build
    for name, build in _BUILDERS.items()
    if name.startswith("numpy.core")
}

_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "MARK": lambda: _MARK,
}
_LITERALS = ("INT", "LONG", "FLOAT", "STRING", "UNICODE", "BYTES", "BYTEARRAY")
"""Opcodes whose names end in one of these, with an optional digit, carry their own value."""


def read_pickle(file: IO[bytes]) -> Any:
    """The object in the next pickle of the file."""
    try:
        return _finished(_Reader().read(file))
    except RecursionError as error:
        raise PickleError("it is nested too deeply, or contains itself") from error
    except (
        IndexError,
        MemoryError,
        OverflowError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:
        raise PickleError(f"it cannot be read as plain data: {error}") from error


class _Reader:
    """A stack machine for the opcodes of plain data."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def read(self, file: IO[bytes]) -> Any:
        for opcode, argument, _ in pickletools.genops(file):
            self.step(opcode.name, argument)
        return self.stack.pop()

    def step(self, name: str, argument: Any) -> None:
        stack, memo = self.stack, self.memo
        if name in ("PROTO", "FRAME", "STOP"):
            return
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name.rstrip("1248").endswith(_LITERALS):
            stack.append(argument)
        elif name.endswith("PUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name.endswith("GET"):
            stack.append(memo[argument])
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(stack[-count:])]
        elif name == "GLOBAL":
            stack.append(_Name(argument))
        elif name == "STACK_GLOBAL":
            stack[-2:] = [_Name(f"{stack[-2]} {stack[-1]}")]
        elif name == "REDUCE":
            arguments, what = stack.pop(), stack.pop()
            stack.append(_called(what, arguments))
        elif name == "BUILD":
            state, unfinished = stack.pop(), stack[-1]
            if not isinstance(unfinished, (_Dtype, _Array)):
                raise PickleError("it holds an object that is neither plain data nor an array")
            unfinished.build(state)
        else:
            self.collect(name)

    def collect(self, name: str) -> None:
        """Opcodes that put the items above a mark, or a single item, into a container."""
        stack = self.stack
        if name in ("APPEND", "SETITEM"):
            count = 1 if name == "APPEND" else 2
            items = stack[-count:]
            del stack[-count:]
        elif name in ("TUPLE", "LIST", "DICT", "APPENDS", "SETITEMS"):
            start = len(stack) - 1 - stack[::-1].index(_MARK)
            items = stack[start + 1 :]
            del stack[start:]
        else:
            raise PickleError(f"it holds more than plain data (instruction {name})")
        if name == "TUPLE":
            stack.append(tuple(items))
        elif name == "LIST":
            stack.append(items)
        elif name.startswith("APPEND"):
            stack[-1].extend(items)
        else:
            if name == "DICT":
                stack.append({})
            stack[-1].update(zip(items[::2], items[1::2], strict=True))


def _called(what: Any, arguments: tuple) -> Any:
    if not isinstance(what, _Name) or what not in _BUILDERS:
        raise PickleError(f"it asks to call {what!s}, but only plain data is read")
    return _BUILDERS[what](*arguments)


def _finished(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.array
    if isinstance(value, (list, tuple)):
        return type(value)(_finished(item) for item in value)
    if isinstance(value, dict):
        return {_finished(key): _finished(item) for key, item in value.items()}
    return value
