"""The presets `paper` (the paper's hyper-parameter table) and `authors` (the released code)."""

from typing import NamedTuple

from ilfo.common.fitting import SGD, Adam, Passes
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.bonus import BufferNormalised
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.termination import KnownTermination
from ilfo.environments.tasks import Task
from ilfo.methods.mobile import MobILESettings
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.mlp import MLPPolicy
from ilfo.storage.config import override


class PaperColumn(NamedTuple):
    """A column of the paper's hyper-parameter table."""

    streams: int
    dynamics_width: int
    passes: int
    clip: float
    buffer_horizons: int
    averaged: bool
    policy_width: int
    log_std_min: float
    imagined_streams: int
    policy_steps: int
    cg_iterations: int
    damping: float
    kl: float
    critic_width: int
    critic_passes: int
    critic: Adam


_CRITIC = Adam(1e-3, 1e-5)


_REGULARISED = Adam(1e-3, 1e-8, 1e-3)


FREE = -2.5
"""Lower bound of the log standard deviation where the paper has none (ours)."""


PAPER = {
    "cartpole": PaperColumn(
        2, 64, 20, 2.0, 10, False, 64, FREE, 2, 3, 50, 1e-3, 0.01, 128, 1, _CRITIC
    ),
    "reacher": PaperColumn(
        2, 64, 100, 2.0, 10, False, 64, FREE, 10, 10, 100, 1e-3, 0.01, 128, 1, _CRITIC
    ),
    "swimmer": PaperColumn(
        2, 512, 100, 1.0, 10, True, 64, FREE, 4, 20, 100, 1e-3, 0.01, 128, 1, _CRITIC
    ),
    "cartpole-stochastic": PaperColumn(
        2, 64, 20, 2.0, 10, False, 32, FREE, 4, 5, 100, 1e-3, 0.01, 32, 1, _CRITIC
    ),
    "hopper": PaperColumn(
        8, 512, 50, 4.0, 16, False, 32, -1.0, 8, 10, 10, 1e-4, 0.025, 128, 2, _REGULARISED
    ),
    "walker2d": PaperColumn(
        3, 512, 200, 1.0, 15, False, 32, -2.0, 20, 15, 10, 1e-4, 0.025, 128, 2, _REGULARISED
    ),
}


def paper(task: Task) -> MobILESettings:
    """Ours, since no table has them: λ, ζ, the clip range, the share of expert starts, the bound on
    runaway states, and that an episode's end carries no cost."""
    row = PAPER[task.name]
    return MobILESettings(
        dynamics=EnsembleDynamics(
            width=row.dynamics_width,
            optimiser=SGD(0.005, 0.99),
            clip=row.clip,
            plan=Passes(passes=row.passes, batch_size=256),
            stochastic=True,
            scaled=False,
        ),
        bonus=BufferNormalised(quantile=1.0, soft=False),
        termination=KnownTermination(task.terminal),
        discriminator=MMD(
            features=128,
            bandwidth_quantile=0.1,
            scales=1,
            scaled=False,
            ridge=None,
            form="penalised",
            input="pair" if task.name == "walker2d" else "state",
            step=0.67 if row.averaged else 1.0,  # the table's 0.33 is the weight of the old w
            clip_max=0.0,
            absorbing=False,
        ),
        planner=TRPO(
            kl=row.kl,
            cg_iterations=row.cg_iterations,
            damping=row.damping,
            critic=GAECritic(
                width=row.critic_width,
                optimiser=row.critic,
                plan=Passes(row.critic_passes, 64),
            ),
        ),
        policy=MLPPolicy(width=row.policy_width, log_std_min=row.log_std_min),
        inference=None,
        floor=False,
        fall_back=False,
        balanced=False,
        paired=False,
        policy_steps=row.policy_steps,
        refit=False,
        streams=row.streams,
        imagined_streams=row.imagined_streams,
        buffer_horizons=row.buffer_horizons,
    )


def authors(task: Task) -> MobILESettings:
    """As `paper`, but the next state is the model's mean, there are 512 features with uniform
    frequencies, and on Hopper and Walker2d there is no line search."""
    settings = paper(task)
    changes = {
        "dynamics.stochastic": False,
        "discriminator.features": 512,
        "discriminator.frequencies": "uniform",
        "planner.line_search": task.name not in ("hopper", "walker2d"),
    }
    for name, value in changes.items():
        settings = override(settings, name, value)
    return settings
