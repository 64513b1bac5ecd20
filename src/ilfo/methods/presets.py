"""Hyper-parameters by name: per task, and one preset for every other environment.

A preset is a function of the task, or of None where the environment is unknown. Every method has a
preset `default`: its settings' defaults, unless `PRESETS` has a row for it. MobILE has more:

- `default`: the best known for the task; `general` where the environment is unknown.
- `general`: one set for any environment, with nothing known of the task: termination is learned.
- `anywhere`: one set for any environment, with inferred actions. What differs between environments
  follows from the demonstrations, the horizon and what is measured.
- `paper`: the paper's hyper-parameter table. What it leaves out is filled in here and marked.
- `authors`: the choices of the released code where they differ from the paper's.

The last two exist for the paper's tasks only. docs/presets.md compares them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ilfo.common.fitting import Adam, Passes
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.termination import KnownTermination
from ilfo.environments.tasks import Task
from ilfo.methods import METHODS
from ilfo.methods.bco import BCOSettings
from ilfo.methods.gail import AdversarialSettings
from ilfo.methods.ilpo import ILPOSettings
from ilfo.methods.inference import Inference
from ilfo.methods.mobile import MobILESettings
from ilfo.methods.paper import PAPER, authors, paper
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.mlp import MLPPolicy

Preset = Callable[[Any], Any]
"""From a task, or None, to the method's settings."""

FEATURES = {
    "reacher": MMD(bandwidth_quantile=0.5, input="change", ridge=1.0),
    "swimmer": MMD(ridge=1.0),
    "walker2d": MMD(input="change", ridge=1.0),
}
"""MMD settings per task: MobILE's discriminator uses them, and every method selects the policy to
return by them. Other tasks and environments have the defaults."""


def general(task: Task | None) -> MobILESettings:
    return MobILESettings()


def anywhere(task: Task | None) -> MobILESettings:
    settings = MobILESettings(
        dynamics=EnsembleDynamics(
            width=200, optimiser=Adam(), plan=Passes(passes=4, batch_size=128)
        ),
        discriminator=MMD(bandwidth_quantile=0.5, input="change", ridge=1.0, step=NEW_W),
        planner=TRPO(kl=0.02, critic=GAECritic(discount=None)),
        policy=MLPPolicy(log_std_min=-2.0),
        inference=Inference(),
        floor=True,
        imagined_streams=None,
        buffer_horizons=None,
    )
    if task is None:
        return settings
    return replace(settings, termination=KnownTermination(task.terminal))


def default(task: Task | None) -> MobILESettings:
    if task is None:
        return general(None)
    settings = DEFAULTS.get(task.name, general(task))
    return replace(settings, termination=KnownTermination(task.terminal))


NEW_W = 0.33
"""Weight of the new w where w is averaged over updates."""
NEWEST_POLICY = 0.1
"""Weight of the newest policy where policies are averaged."""
LOCOMOTION = MobILESettings(
    dynamics=EnsembleDynamics(width=200, optimiser=Adam(), plan=Passes(passes=4, batch_size=128)),
    discriminator=MMD(step=NEW_W),
    planner=TRPO(kl=0.01),
    policy=MLPPolicy(log_std_min=-1.0),
    buffer_horizons=32,
)

DEFAULTS = {
    "cartpole": MobILESettings(averaging=NEWEST_POLICY),
    "cartpole-stochastic": MobILESettings(
        dynamics=EnsembleDynamics(optimiser=Adam(), stochastic=True),
        discriminator=MMD(step=NEW_W),
        planner=TRPO(kl=0.005),
        imagined_streams=50,
        buffer_horizons=100,
        averaging=NEWEST_POLICY,
    ),
    "hopper": LOCOMOTION,
    "reacher": MobILESettings(
        dynamics=EnsembleDynamics(optimiser=Adam()),
        discriminator=replace(FEATURES["reacher"], step=NEW_W),
        planner=TRPO(kl=0.02),
        imagined_streams=50,
        buffer_horizons=100,
    ),
    "swimmer": replace(
        LOCOMOTION,
        discriminator=replace(FEATURES["swimmer"], step=NEW_W),
        planner=TRPO(kl=0.005),
        policy=MLPPolicy(initial_log_std=-1.0, log_std_max=-1.0),
        averaging=NEWEST_POLICY,
    ),
    "walker2d": replace(
        LOCOMOTION,
        discriminator=replace(FEATURES["walker2d"], step=NEW_W),
        planner=TRPO(kl=0.02),
    ),
}
"""MobILE's default settings per task; other tasks have those of `general`."""

STREAMS = {"cartpole-stochastic": 5, "reacher": 10, "hopper": 4, "walker2d": 4}
"""Streams per iteration of the baselines, where two make too little data to learn from."""


def _baseline(settings: type) -> Preset:
    """Settings with the task's streams and features."""

    def preset(task: Task | None) -> Any:
        if task is None:
            return settings()
        features = FEATURES.get(task.name, MMD())
        return settings(streams=STREAMS.get(task.name, 2), chooser=features)

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
        "general": general,
        "anywhere": anywhere,
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
