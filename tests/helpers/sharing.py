"""Compiled code, shared by agents that are made alike.

An agent compiles its functions for itself. Most agents of the tests have the settings of another
one, so tracing the same functions again would be most of what the tests do.
"""

import inspect
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import equinox as eqx
import jax
import pytest

from ilfo.agents import agent, expert, seeds
from ilfo.common.compiling import compiled


class SharedCode:
    """`compiled`, called once for equal functions and arguments of equal shapes."""

    def __init__(self):
        self._known: dict[Hashable, Callable[..., Any]] = {}

    def __call__(self, function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
        try:
            key = (meaning(function), shapes(args))
            hash(key)
        except TypeError:  # of something that it reads nobody can say what it equals
            return compiled(function, *args)
        if key not in self._known:
            self._known[key] = compiled(function, *args)
        return self._known[key]

    def forget(self) -> None:
        self._known.clear()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for module in (agent, expert, seeds):
                patch.setattr(module, "compiled", self)
            yield


def meaning(function: Callable[..., Any]) -> tuple:
    """What a function computes: its code and all that it reads besides its arguments."""
    if isinstance(function, MethodType):
        owner, code = function.__self__, function.__code__
        if isinstance(owner, seeds.OverSeeds):
            return code, meaning(owner._function), owner._mesh
        if not isinstance(owner, agent.Agent):
            raise TypeError(f"what {function} reads is not known")
        reads = (owner.method.init, owner.settings, owner.problem, owner.seeds)
        return code, *map(exactly, reads)
    if not inspect.isfunction(function) or function.__defaults__ or function.__kwdefaults__:
        raise TypeError(f"what {function} reads is not known")
    captured = [cell.cell_contents for cell in function.__closure__ or ()]
    return function.__code__, *map(exactly, captured)


def exactly(value: Any) -> tuple[Any, str]:
    """Equal where the value is, and is written alike: 1 equals True."""
    return value, repr(value)


def shapes(args: Any) -> tuple:
    """All that compiling may look at in arguments: structure, what is no array, and of arrays
    everything but the numbers."""
    leaves, structure = jax.tree.flatten(args)
    return structure, *(
        (leaf.aval, leaf.sharding, leaf.committed) if eqx.is_array(leaf) else exactly(leaf)
        for leaf in leaves
    )
