"""Reading plain data from a pickle without unpickling it.

A pickle is a small program, and running it can call any function. Here its instructions are only
parsed: numbers, text, containers and NumPy arrays are built by the functions of this module, and a
pickle with anything else is rejected. Nothing is imported or called by name.

A few instructions can also ask for any amount of memory or time. `Limits` bounds both by the size
of the file.
"""

import pickletools
from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy as np

from ilfo.common.printable import brief
from ilfo.data.pickle_limits import Bounded, Finisher, Limits, PickleError, Unfinished

_LONGEST_NAME = 200
_SMALL = 2**32
"""Integers below this have hashes of their own."""
_DIMENSIONS = 32
_CODES = {f"{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8, 16)} | {"b1"}
"""How pickles write the dtypes of numbers, without their byte order."""


class _Name(str):
    """Something that the pickle refers to by module and name."""


class _Dtype:
    """An unfinished NumPy dtype; a second instruction sets its byte order."""

    def __init__(self, code: Any, *_: Any):
        if _text(code) not in _CODES:
            raise PickleError(f"it holds an array of type {_text(code)[:20]!r}, not of numbers")
        self.dtype = np.dtype(_text(code))

    def build(self, state: Any) -> None:
        if _text(state[1]) == ">":
            self.dtype = self.dtype.newbyteorder(">")


class _Array(Unfinished):
    """An unfinished NumPy array; a second instruction sets shape, dtype and bytes."""

    def build(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.array = _from_bytes(data, kind, shape, "F" if fortran else "C").array


def _text(value: Any) -> str:
    if not isinstance(value, (str, bytes)):
        raise PickleError(f"it holds a {type(value).__name__} where text belongs")
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _raw(data: Any, kind: Any) -> bytes:
    if not isinstance(kind, _Dtype) or not isinstance(data, (bytes, bytearray, str)):
        raise PickleError("it holds an array of Python objects, not of numbers")
    return data.encode("latin-1") if isinstance(data, str) else bytes(data)


def _from_bytes(data: Any, kind: Any, shape: Any, order: Any) -> _Array:
    raw = _raw(data, kind)
    if not isinstance(shape, tuple) or len(shape) > _DIMENSIONS or not all(map(_is_length, shape)):
        raise PickleError("it holds an array whose shape is not a short tuple of lengths")
    result = _Array()
    result.array = np.frombuffer(raw, kind.dtype).reshape(shape, order="F" if order == "F" else "C")
    return result


def _is_length(value: Any) -> bool:
    return type(value) is int and value >= 0


def _encode(text: Any, codec: Any) -> bytes:
    if _text(codec) != "latin1":
        raise PickleError(f"it holds bytes in the codec {_text(codec)[:20]!r}")
    return _text(text).encode("latin-1")


def _empty_bytes(*arguments: Any) -> bytes:
    """How old protocols write empty bytes."""
    if arguments:
        raise PickleError("it asks for bytes that are not in it")
    return b""


def _scalar(kind: Any, data: Any) -> Any:
    return np.frombuffer(_raw(data, kind), kind.dtype)[0]


def _dict(pairs: Iterable[Any] = ()) -> dict[Any, Any]:
    return _put({}, [item for pair in pairs for item in _pair(pair)])


def _pair(pair: Any) -> tuple[Any, Any]:
    key, value = pair
    return key, value


def _put(into: dict[Any, Any], items: list[Any]) -> dict[Any, Any]:
    """Put keys and values that take turns into a dict.

    Other keys than text and small integers can be chosen so that all have the same hash, which
    takes quadratic time.
    """
    for key in items[::2]:
        if type(key) is not str and not (type(key) is int and abs(key) < _SMALL):
            raise PickleError("it holds a dict whose keys are neither text nor small integers")
    into.update(zip(items[::2], items[1::2], strict=True))
    return into


_BUILDERS: dict[str, Callable[..., Any]] = {
    "_codecs encode": _encode,
    "__builtin__ bytes": _empty_bytes,
    "collections OrderedDict": _dict,
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
}
_KINDS = ("INT", "LONG", "FLOAT", "STRING", "UNICODE", "BYTES", "BYTEARRAY")
_LITERALS = {op.name for op in pickletools.opcodes if op.name.rstrip("1248").endswith(_KINDS)}
"""Opcodes that carry their own value."""


def read_pickle(file: IO[bytes]) -> Any:
    """The object in the next pickle of the file."""
    bounded = Bounded(file)
    limits = Limits(bounded.left)
    try:
        return Finisher(limits).finish(_Reader(limits).read(bounded))
    except PickleError:
        raise
    except (
        IndexError,
        MemoryError,
        OverflowError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:
        raise PickleError(f"it cannot be read as plain data: {brief(error)}") from error


class _Reader:
    """A stack machine for the opcodes of plain data."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        """What is below each mark."""
        self.memo: dict[int, Any] = {}

    def read(self, file: Any) -> Any:
        for opcode, argument, _ in pickletools.genops(file):
            self.limits.count_instruction()
            self.step(opcode.name, argument)
        return self.stack.pop()

    def step(self, name: str, argument: Any) -> None:
        stack, memo = self.stack, self.memo
        if name in _LITERALS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name == "MARK":
            self.below.append(stack)
            self.stack = []
        elif name.endswith("PUT"):
            memo[_place(argument)] = stack[-1]
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
            stack[-2:] = [_name(stack[-2], stack[-1])]
        elif name == "REDUCE":
            arguments, what = stack.pop(), stack.pop()
            stack.append(self.called(what, arguments))
        elif name == "BUILD":
            self.build(stack.pop(), stack[-1])
        elif name not in ("PROTO", "FRAME", "STOP"):
            self.collect(name)

    def called(self, what: Any, arguments: Any) -> Any:
        if not isinstance(what, _Name) or what not in _BUILDERS:
            asked = str(what)[:_LONGEST_NAME] if isinstance(what, _Name) else "what has no name"
            raise PickleError(f"it asks to call {asked}, but only plain data is read")
        self.limits.count_parts(arguments)
        return _BUILDERS[what](*arguments)

    def build(self, state: Any, unfinished: Any) -> None:
        if not isinstance(unfinished, (_Dtype, _Array)):
            raise PickleError("it holds an object that is neither plain data nor an array")
        self.limits.count_parts(state)
        unfinished.build(state)

    def collect(self, name: str) -> None:
        """Opcodes that put the items above a mark, or a single item, into a container."""
        if name in ("APPEND", "SETITEM"):
            count = 1 if name == "APPEND" else 2
            items = self.stack[-count:]
            del self.stack[-count:]
        elif name in ("TUPLE", "LIST", "DICT", "APPENDS", "SETITEMS"):
            items = self.stack
            self.stack = self.below.pop()
        else:
            raise PickleError(f"it holds more than plain data (instruction {name})")
        stack = self.stack
        if name == "TUPLE":
            stack.append(tuple(items))
        elif name == "LIST":
            stack.append(items)
        elif name == "DICT":
            stack.append(_put({}, items))
        elif name.startswith("APPEND"):
            _require(list, stack[-1]).extend(items)
        else:
            _put(_require(dict, stack[-1]), items)


def _place(number: int) -> int:
    """Where a value is remembered. Numbers that are written as text may be of any size, and large
    ones can have equal hashes."""
    if not 0 <= number < _SMALL:
        raise PickleError("it remembers a value under a number below 0 or far too large")
    return number


def _name(module: Any, name: Any) -> _Name:
    if type(module) is not str or type(name) is not str:
        raise PickleError("it refers to something whose name is not text")
    if len(module) + len(name) > _LONGEST_NAME:
        raise PickleError(f"it refers to a name of {len(module) + len(name)} characters")
    return _Name(f"{module} {name}")


def _require(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise PickleError(f"it adds items to a {type(value).__name__}, not to a {kind.__name__}")
    return value
