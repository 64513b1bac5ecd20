"""What the commands write to: any terminal, file or pipe, also one that is closed or full."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

AGAIN = 0.1
"""Seconds after which a Ctrl-C that was missed is repeated."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end; as by Ctrl-C, everything is given back first."""


@contextmanager
def prepared_streams() -> Iterator[None]:
    """Let nothing that is printed fail, and let SIGTERM end a command as Ctrl-C does if it shows
    something on a terminal: otherwise the cursor would stay hidden. Let no Ctrl-C be missed."""
    _open_streams()
    form, warnings.formatwarning = warnings.formatwarning, _one_line
    hook, sys.unraisablehook = sys.unraisablehook, _stop_again
    handler = None
    if sys.stdout.isatty():
        with suppress(ValueError):  # not in the main thread
            handler = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        warnings.formatwarning = form
        sys.unraisablehook = hook
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)


def discard_output() -> None:
    """Write what is still to be printed to nowhere; for a pipe or disk that takes nothing more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed; a file that is opened next would take its place
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for what the locale cannot write


def _one_line(message: Warning | str, *_: object, **__: object) -> str:
    return f"warning: {message}\n"


def _stop_again(missed: "sys.UnraisableHookArgs") -> None:
    """Python drops an exception that is raised while it collects garbage, or in `__del__`; JAX has
    code that runs then. A Ctrl-C that comes at such a moment is repeated a little later."""
    if not issubclass(missed.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(missed)
        return
    number = signal.SIGTERM if issubclass(missed.exc_type, Terminated) else signal.SIGINT
    # to the main thread, which only that wakes: Python handles signals there
    main = threading.main_thread().ident
    again = threading.Timer(AGAIN, signal.pthread_kill, [main, number])
    again.daemon = True
    again.start()


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated
