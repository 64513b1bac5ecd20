"""Hyper-parameters by name.

A preset is a function of the task, or of None where the environment is unknown. Every method has a
preset `default`: its settings' defaults, unless `PRESETS` has a row for it. MobILE has more:

- `default`: one set for every environment. What differs between environments follows from the
  demonstrations, the horizon and what is measured. A task adds how its episodes end.
- `paper`: the paper's hyper-parameter table. What it leaves out is filled in here and marked.
- `authors`: the choices of the released code where they differ from the paper's.

The last two exist for the paper's tasks only. docs/presets.md compares them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ilfo.dynamics.termination import KnownTermination
from ilfo.environments.tasks import Task
from ilfo.methods import METHODS
from ilfo.methods.bco import BCOSettings
from ilfo.methods.gail import AdversarialSettings
from ilfo.methods.ilpo import ILPOSettings
from ilfo.methods.mobile import MobILESettings
from ilfo.methods.paper import PAPER, authors, paper
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO

Preset = Callable[[Any], Any]
"""From a task, or None, to the method's settings."""


def default(task: Task | None) -> MobILESettings:
    """The settings' defaults; of a task, how its episodes end is known."""
    settings = MobILESettings()
    if task is None:
        return settings
    return replace(settings, termination=KnownTermination(task.terminal))


STREAMS = {"cartpole-stochastic": 5, "reacher": 10, "hopper": 4, "walker2d": 4}
"""Streams per iteration of the baselines, where two make too little data to learn from."""


def _baseline(settings: type) -> Preset:
    """Settings with the task's streams."""

    def preset(task: Task | None) -> Any:
        if task is None:
            return settings()
        return settings(streams=STREAMS.get(task.name, 2))

    return preset


def adversarial(task: Task | None) -> AdversarialSettings:
    """Reacher has 25 actions and short episodes: a larger KL bound and a smaller discount."""
    settings = _baseline(AdversarialSettings)(task)
    if task and task.name == "reacher":
        planner = TRPO(kl=0.1, critic=GAECritic(discount=0.95))
        return replace(settings, planner=planner)
    return settings


PRESETS: Mapping[str, Mapping[str, Preset]] = {
    "mobile": {
        "default": default,
        "paper": paper,
        "authors": authors,
    },
    "bco": {"default": _baseline(BCOSettings)},
    "gail": {"default": adversarial},
    "gaifo": {"default": adversarial},
    "ilpo": {"default": _baseline(ILPOSettings)},
}
"""By method and name; a method without a row has its settings' defaults."""


def presets_of(method: str, task: Task | None) -> dict[str, Preset]:
    """The presets that a method has for a task, or for an unknown environment."""
    presets = PRESETS.get(method, {"default": lambda task: METHODS[method].method.settings()})
    for_paper = task is not None and task.name in PAPER
    return {
        name: preset
        for name, preset in presets.items()
        if for_paper or name not in ("paper", "authors")
    }


def find_settings(preset: str, method: str = "mobile", task: Task | None = None) -> Any:
    """The settings that a preset has for a task, or for an unknown environment."""
    presets = presets_of(method, task)
    if preset not in presets:
        whom = "an unknown environment" if task is None else task.name
        raise ValueError(
            f"{method} has no preset {preset!r} for {whom}; there are: {', '.join(presets)}"
        )
    return presets[preset](task)
