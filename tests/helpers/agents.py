"""MobILE at a size where compiling, not computing, takes the time; and environments to test it.

All tests that can share one compiled `improve`: three seeds on CartPole, `CHANGES`, `HORIZON`.
"""

from pathlib import Path

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.types import DemonstratedSteps
from ilfo.discriminators.mmd import MMD
from ilfo.environments.tasks import find_task
from ilfo.methods.mobile import MobILE, MobILESettings
from ilfo.runs.spec import RunSpec, apply_changes

HORIZON = 20
SEEDS = 3
STEP = 2 * HORIZON
"""Online samples of one iteration."""
MACHINE = {"threads": 1, "devices": 1}

PLAIN = (
    "inference=none",
    "floor=false",
    "balanced=false",
    "bonus.quantile=1.0",
    "bonus.soft=false",
    "dynamics.scaled=false",
    "paired=false",
    "discriminator.bandwidth_quantile=0.1",
    "discriminator.scales=1",
    "discriminator.input=state",
    "discriminator.ridge=none",
    "discriminator.step=1.0",
)
"""The paper's algorithm, without what is ours."""
SMALL = (
    "dynamics.width=8",
    "dynamics.depth=1",
    "dynamics.plan.passes=1",
    "termination.width=8",
    "termination.plan.passes=1",
    "discriminator.features=16",
    "planner.cg_iterations=3",
    "planner.fisher_samples=32",
    "planner.critic.width=8",
    "policy.width=8",
    "policy.depth=1",
    "policy_steps=2",
    "streams=2",
    "imagined_streams=4",
    "buffer_horizons=4",
)
CHANGES = (*PLAIN, *SMALL)
SETTINGS: MobILESettings = apply_changes(MobILESettings(), CHANGES)


def plain_mmd(features: int = 256, **fields) -> MMD:
    """The paper's discriminator, without what is ours, but for these fields."""
    plain = {"bandwidth_quantile": 0.1, "scales": 1, "input": "state", "ridge": None, "step": 1.0}
    return MMD(features, **plain | fields)


def as_steps(pairs, trajectories: int = 2) -> DemonstratedSteps:
    """Steps (n, 2, F) as demonstrated ones, dealt to so many trajectories."""
    return DemonstratedSteps.from_pairs(jnp.asarray(pairs), jnp.arange(len(pairs)) % trajectories)


def demonstrations(count: int = 2):
    return find_task("cartpole").load(count)


def small_agent(environment="CartPole-v1", expert=None, settings=SETTINGS, seeds=SEEDS, **more):
    expert = demonstrations() if expert is None else expert
    return MobILE(environment, expert, settings, seeds=seeds, horizon=HORIZON, **more)


def small_spec(demos: Path, iterations: int, **more) -> RunSpec:
    """What `small_agent` does, as the command line would ask for it."""
    given = {"task": None, "env": "CartPole-v1", "demos": str(demos), "horizon": HORIZON}
    return RunSpec(
        **given | {"seeds": SEEDS, "total_timesteps": iterations * STEP, "changes": CHANGES} | more
    )


def bits(tree) -> list:
    """Every array's dtype, shape and bytes; what is not an array stays."""
    return [
        (str(leaf.dtype), leaf.shape, _plain(leaf).tobytes()) if eqx.is_array(leaf) else leaf
        for leaf in jax.tree.leaves(tree)
    ]


def _plain(leaf) -> np.ndarray:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


class Scrambled(gym.RewardWrapper):
    """Rewards that have nothing to do with what happens."""

    def reward(self, reward):
        return float(np.random.default_rng().normal(scale=1e6))


class Exploding(gym.ObservationWrapper):
    """CartPole, whose states a test can throw beyond all measure while it runs."""

    factor = 1.0

    def observation(self, observation):
        return observation * np.float32(Exploding.factor)


class Spaces(gym.Env):
    """Any spaces; for what is refused before a step is taken."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space
