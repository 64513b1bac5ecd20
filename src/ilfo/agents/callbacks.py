"""Watching a training run: the callback interface."""

from collections.abc import Mapping
from typing import Any


class Callback:
    """What training tells the outside; override the methods you need.

    `log` maps names to numbers, or to arrays with one number per seed. `on_end` is called however
    training ends, so that it can give back what `on_start` took.
    """

    def on_start(self, agent: Any) -> None:
        """Called once, before the first iteration."""

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> bool | None:
        """Called after every iteration; return False to stop training."""

    def on_end(self, agent: Any) -> None:
        """Called once, after the last iteration or after an error."""
