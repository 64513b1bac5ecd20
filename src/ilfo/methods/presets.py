"""Hyper-parameters by name: per task, and one preset for every other environment.

A preset is a function of the task, or of None where the environment is unknown.

- `default`: the best known for the task; `general` where the environment is unknown.
- `general`: one set for any environment, with nothing known of the task: its ending is learned.
- `paper`: the paper's hyper-parameter table. What it leaves out is filled in here and marked.
- `authors`: the choices of the released code where they differ from the paper's.

docs/presets.md sets them side by side with their measured effect.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ilfo.common.fitting import Adam, Passes
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.termination import KnownTermination
from ilfo.environments.tasks import Task
from ilfo.methods.baseline_presets import PRESETS as RIVALS
from ilfo.methods.mobile import MobILESettings
from ilfo.methods.paper import authors, paper
from ilfo.methods.task_features import FOR_TASK
from ilfo.planners.trpo import TRPO
from ilfo.policies.mlp import MLPPolicy


def general(task: Task | None) -> MobILESettings:
    return MobILESettings()


def default(task: Task | None) -> MobILESettings:
    if task is None:
        return general(None)
    settings = DEFAULTS[task.name]
    return replace(settings, termination=KnownTermination(task.terminal))


NEW_W = 0.33
"""Its share where w is averaged."""
NEWEST_POLICY = 0.1
"""Its share where the policy to return is a mean of those that have acted."""
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
        discriminator=replace(FOR_TASK["reacher"], step=NEW_W),
        planner=TRPO(kl=0.02),
        imagined_streams=50,
        buffer_horizons=100,
    ),
    "swimmer": replace(
        LOCOMOTION,
        discriminator=replace(FOR_TASK["swimmer"], step=NEW_W),
        planner=TRPO(kl=0.005),
        policy=MLPPolicy(initial_log_std=-1.0, log_std_max=-1.0),
        averaging=NEWEST_POLICY,
    ),
    "walker2d": replace(
        LOCOMOTION,
        discriminator=replace(FOR_TASK["walker2d"], step=NEW_W),
        planner=TRPO(kl=0.02),
    ),
}


PRESETS: dict[str, Callable[[Task | None], MobILESettings]] = {
    "default": default,
    "general": general,
    "paper": paper,
    "authors": authors,
}


def find_preset(name: str, method: str = "mobile") -> Callable[[Task | None], Any]:
    presets: Mapping[str, Callable[[Task | None], Any]] = PRESETS
    if method != "mobile":
        presets = RIVALS[method]
    if name not in presets:
        raise ValueError(f"unknown preset {name!r}; there are: {', '.join(presets)}")
    return presets[name]
