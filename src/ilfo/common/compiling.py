"""Compiling functions ahead of their first call.

Compiling takes longer than the first iterations of a small task, so it is done with options that
shorten it: an older generator of fused code, and fewer optimisations by LLVM. With the pinned
versions MobILE compiles in less than half the time and an iteration takes a few percent longer.
XLA may drop an option; then a function is compiled without any.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

OPTIONS = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}


def compiled(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The function, compiled for arguments of these shapes."""
    jitted: Any = eqx.filter_jit(function)
    lowered = jitted.lower(*args)
    try:
        return lowered.compile(compiler_options=OPTIONS)
    except jax.errors.JaxRuntimeError:
        return lowered.compile()
    finally:
        _give_back()


def _give_back() -> None:
    """Give the memory that compiling has freed back to the system. glibc keeps it for later, which
    is a tenth of a small run's memory."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
