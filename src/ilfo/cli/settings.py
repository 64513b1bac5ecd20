"""`ilfo settings`."""

from dataclasses import dataclass
from typing import Any

import tyro

from ilfo.agents.settings import differences
from ilfo.cli.console import say
from ilfo.cli.options import MethodName
from ilfo.cli.settings_text import settings_text
from ilfo.environments.tasks import find_task
from ilfo.methods import METHODS
from ilfo.methods.presets import find_settings


@dataclass(frozen=True)
class ListSettings:
    """List the hyper-parameters that `ilfo train --set` can change."""

    method: tyro.conf.Positional[MethodName] = "mobile"
    """Method."""
    task: str | None = None
    """Show the values for this built-in task; by default those for any other environment."""
    preset: str = "default"
    """Named set of hyper-parameters."""

    def run(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"unknown method {self.method!r}; there are: {', '.join(METHODS)}")
        task = find_task(self.task) if self.task else None
        settings = find_settings(self.preset, self.method, task)
        say(settings_text(settings))
        if self.task:
            say("\n" + self._compared(settings))

    def _compared(self, settings: Any) -> str:
        """A task's settings against those for other environments."""
        other = f"`ilfo settings {self.method}`"
        changes = differences(settings, find_settings("default", self.method))
        if not changes:
            return f"Same as {other}."
        listed = ", ".join(f"{name}={value}" for name, value in changes.items())
        return f"Different from {other}: {listed}"


COMMANDS = {"settings": ListSettings}
