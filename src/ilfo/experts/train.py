"""Training experts: the project's planner on real rollouts and the true reward."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp

from ilfo.environments.spaces import action_space, state_dim
from ilfo.evaluate import mean_return, play
from ilfo.planners.base import AbstractPlanner
from ilfo.planners.critic import Batch
from ilfo.planners.trpo import TRPO
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollout import collect
from ilfo.types import Normaliser

PLANNER = TRPO(kl=0.0025)
POLICY = MLPPolicy()


class Progress(NamedTuple):
    """The expert after an iteration."""

    iteration: int
    samples: int
    stochastic_return: float
    policy: AbstractPolicy


def train(
    make: Callable[[], gym.Env],
    *,
    horizon: int,
    seed: int,
    planner: AbstractPlanner = PLANNER,
    policy: MLPPolicy = POLICY,
    streams: int = 8,
    episodes: int = 50,
) -> Iterator[Progress]:
    """Improve without end; the caller stops when the return suffices.

    Each iteration takes `streams` · `horizon` samples, and judges the stochastic policy by
    `episodes` episodes beside them.
    """
    environments = [make() for _ in range(streams)]
    actions = action_space(environments[0].action_space)
    dim = state_dim(environments[0].observation_space)
    policy_key, planner_key, key = jax.random.split(jax.random.key(seed), 3)
    normaliser = Normaliser.identity(dim)
    first = policy.init(dim, actions, normaliser, key=policy_key)
    state = planner.init(first, dim, normaliser, key=planner_key)

    @eqx.filter_jit
    def update(state, rollout, rewards, key):
        free = jnp.zeros(())
        return planner.update(state, Batch(rollout, -rewards, free, free), key=key)[0]

    iteration = 0
    while True:
        rollout, rewards = collect(
            environments,
            HostPolicy.single(state.policy),
            actions,
            seeds=[seed],
            iteration=iteration,
            steps=horizon,
        )
        rollout, rewards = jax.tree.map(lambda x: jnp.asarray(x[0]), (rollout, rewards))
        state = update(state, rollout, rewards, jax.random.fold_in(key, iteration))
        iteration += 1
        host = HostPolicy.single(state.policy)
        score = mean_return(
            play(environments, host, actions, episodes=episodes, seed=seed, greedy=False)
        )
        yield Progress(iteration, iteration * streams * horizon, score, state.policy)
