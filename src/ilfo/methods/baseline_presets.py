"""Hyper-parameters of the rivals by method and name; each is a function of the task, or of None."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ilfo.discriminators.mmd import MMD
from ilfo.environments.tasks import Task
from ilfo.methods.bc import BCSettings
from ilfo.methods.bco import BCOSettings
from ilfo.methods.gail import AdversarialSettings
from ilfo.methods.ilpo import ILPOSettings
from ilfo.methods.task_features import FOR_TASK
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO

STREAMS = {"cartpole-stochastic": 5, "reacher": 10, "hopper": 4, "walker2d": 4}
"""Streams per iteration where the default makes an iteration too small to learn from."""


def _streams(task: Task | None) -> int:
    return STREAMS.get(task.name, 2) if task else 2


def _chooser(task: Task | None) -> MMD:
    """MobILE's, so that all methods judge policies by the same features."""
    return FOR_TASK.get(task.name, MMD()) if task else MMD()


def bc(task: Task | None) -> BCSettings:
    return BCSettings()


def bco(task: Task | None) -> BCOSettings:
    return BCOSettings(streams=_streams(task), chooser=_chooser(task))


def adversarial(task: Task | None) -> AdversarialSettings:
    """On Reacher, whose 25 actions start far from any choice and whose episodes are short, steps
    are longer and fewer costs ahead count."""
    settings = AdversarialSettings(streams=_streams(task), chooser=_chooser(task))
    if task and task.name == "reacher":
        planner = TRPO(kl=0.1, critic=GAECritic(discount=0.95))
        return replace(settings, planner=planner)
    return settings


def ilpo(task: Task | None) -> ILPOSettings:
    return ILPOSettings(streams=_streams(task), chooser=_chooser(task))


PRESETS: Mapping[str, Mapping[str, Callable[[Task | None], Any]]] = {
    "bc": {"default": bc},
    "bco": {"default": bco},
    "gail": {"default": adversarial},
    "gaifo": {"default": adversarial},
    "ilpo": {"default": ilpo},
}
