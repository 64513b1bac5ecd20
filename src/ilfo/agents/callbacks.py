"""Watching a training run: the callback interface."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

Watcher = Callable[[Any, Mapping[str, Any]], bool | None]
"""A plain function of agent and log can be a callback, too."""


class Callback:
    """What training tells the outside; override the methods you need.

    `log` maps names to numbers, or to arrays with one number per seed. `on_end` is called however
    training ends, once `on_start` or an `on_phase` of your own was, so that it can give back what
    they took.
    """

    def on_start(self, agent: Any) -> None:
        """Called once, before the first iteration."""

    def on_phase(self, agent: Any, doing: str) -> None:
        """Called when something begins that may take a while and is not an iteration, such as
        "compiling"; also before `on_start`, where the agent may have no state yet."""

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> bool | None:
        """Called after every iteration; return False to stop training."""

    def on_end(self, agent: Any) -> None:
        """Called once, after the last iteration or after an error."""


NOBODY = Callback()


class Callbacks(Callback):
    """Several callbacks as one, called in their order."""

    def __init__(self, given: Callback | Watcher | Iterable[Callback | Watcher] | None):
        if given is None:
            given = ()
        several = given if isinstance(given, Iterable) else [given]
        self.several = [_as_callback(one) for one in several]
        self._heard: list[Callback] = []

    def on_start(self, agent: Any) -> None:
        for callback in self.several:
            self._tells(callback)
            callback.on_start(agent)

    def on_phase(self, agent: Any, doing: str) -> None:
        for callback in self.several:
            if type(callback).on_phase is not Callback.on_phase:
                self._tells(callback)
                callback.on_phase(agent, doing)

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> bool:
        answers = [callback.on_iteration(agent, log) for callback in self.several]
        return not any(answer is False for answer in answers)

    def on_end(self, agent: Any) -> None:
        with ExitStack() as all_of_them:  # also if one of them fails
            for callback in reversed(self.several):
                if callback in self._heard:
                    all_of_them.callback(callback.on_end, agent)

    def _tells(self, callback: Callback) -> None:
        if callback not in self._heard:
            self._heard.append(callback)


class _Function(Callback):
    def __init__(self, function: Watcher):
        self.function = function

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> bool | None:
        return self.function(agent, log)


def _as_callback(given: Any) -> Callback:
    if isinstance(given, Callback):
        return given
    if callable(given) and not isinstance(given, type):
        return _Function(given)
    raise ValueError(
        f"{given!r} is not a callback; pass an instance of ilfo.agents.Callback, or a function of "
        "agent and log"
    )
