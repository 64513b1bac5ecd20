"""Training experts with the planner of MobILE, on real rollouts and the true reward."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.fitting import Passes
from ilfo.common.spaces import action_space, state_dim
from ilfo.common.types import Normaliser, Rollout
from ilfo.environments.tasks import Task
from ilfo.planners.base import AbstractPlanner, PlannerState
from ilfo.planners.critic import Batch, GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.collect import collect


@dataclass(frozen=True)
class Plan:
    """How an expert is trained."""

    planner: AbstractPlanner = TRPO()
    policy: MLPPolicy = MLPPolicy()
    streams: int = 16
    """Parallel environments, each stepped for one horizon per iteration."""
    normalise: bool = True
    """Normalise observations by the mean and standard deviation of all observations so far."""
    limit: int = 5_000_000
    """Environment steps after which training is given up."""


def plan_for(task: Task) -> Plan:
    """A plan with about 6,400 environment steps per iteration, in at least 16 environments."""
    planner = TRPO(kl=task.expert_kl, critic=GAECritic(plan=Passes(10, 256)))
    return Plan(planner, streams=max(16, 6400 // task.horizon))


class ExpertProgress(NamedTuple):
    """One iteration of training an expert."""

    iteration: int
    samples: int
    """Environment steps so far, including those of this iteration."""
    stochastic_return: float
    """Mean return of the first episode of each stream."""
    policy: AbstractPolicy


def train(
    make: Callable[[], gym.Env], *, horizon: int, seed: int, plan: Plan
) -> Iterator[ExpertProgress]:
    """Train without end, yielding every iteration; the caller stops when the return suffices."""
    environments = [make() for _ in range(plan.streams)]
    actions = action_space(environments[0].action_space)
    dim = state_dim(environments[0].observation_space)
    policy_key, planner_key, key = jax.random.split(jax.random.key(seed), 3)
    normaliser = Normaliser.identity(dim)
    first = plan.policy.init(dim, actions, normaliser, key=policy_key)
    state = plan.planner.init(first, dim, normaliser, key=planner_key)
    seen = RunningScale(dim)

    @eqx.filter_jit
    def update(state, rollout, rewards, key):
        free = jnp.zeros(())
        return plan.planner.update(state, Batch(rollout, -rewards, free, free), key=key)[0]

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
        rollout, rewards = jax.tree.map(lambda x: x[0], (rollout, rewards))
        iteration += 1
        samples = iteration * plan.streams * horizon
        yield ExpertProgress(iteration, samples, first_return(rollout, rewards), state.policy)
        steps, gained = jax.tree.map(jnp.asarray, (rollout, rewards))
        state = update(state, steps, gained, jax.random.fold_in(key, iteration - 1))
        if plan.normalise:
            seen.add(rollout.state)
            state = rescaled(state, seen.normaliser)


def first_return(rollout: Rollout, rewards: np.ndarray) -> float:
    """Mean return of the first episode of each stream.

    In a stream of one horizon the first episode is always complete, so that short episodes are not
    preferred.
    """
    ends = rollout.terminal | rollout.truncated
    first = np.cumsum(ends, axis=1) - ends == 0
    return float((rewards * first).sum(1).mean())


class RunningScale:
    """Mean and standard deviation of all states so far."""

    def __init__(self, dim: int):
        self.count, self.total, self.squares = 0, np.zeros(dim), np.zeros(dim)

    def add(self, states: np.ndarray) -> None:
        rows = states.reshape(-1, states.shape[-1]).astype(np.float64)
        self.count += len(rows)
        self.total += rows.sum(0)
        self.squares += (rows**2).sum(0)

    @property
    def normaliser(self) -> Normaliser:
        mean = self.total / self.count
        std = np.sqrt(np.maximum(self.squares / self.count - mean**2, 1e-8))
        return Normaliser(jnp.asarray(mean, jnp.float32), jnp.asarray(std, jnp.float32))


def rescaled(state: PlannerState, normaliser: Normaliser) -> PlannerState:
    """The same networks with another normaliser of their observations."""
    where = lambda s: (s.policy.normaliser, s.critic.critic.normaliser)
    return eqx.tree_at(where, state, (normaliser, normaliser))
