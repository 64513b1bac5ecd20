"""Hyper-parameters by name: per task, and one preset for every other environment.

A preset is a function of the task, or of None where the environment is unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ilfo.baselines.presets import PRESETS as RIVALS
from ilfo.environments.tasks import Task
from ilfo.mobile import Settings
from ilfo.termination import KnownTermination


def default(task: Task | None) -> Settings:
    """The best known: a task's own termination rule, a learned one elsewhere."""
    if task is None:
        return Settings()
    return Settings(termination=KnownTermination(task.terminal))


PRESETS: dict[str, Callable[[Task | None], Settings]] = {"default": default}


def find_preset(name: str, method: str = "mobile") -> Callable[[Task | None], Any]:
    presets: Mapping[str, Callable[[Task | None], Any]] = PRESETS
    if method != "mobile":
        presets = RIVALS[method]
    if name not in presets:
        raise ValueError(f"unknown preset {name!r}; there are: {', '.join(presets)}")
    return presets[name]
