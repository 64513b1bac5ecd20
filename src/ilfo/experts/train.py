"""Training experts: the project's planner on real rollouts and the true reward."""

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
    """Streams per iteration, each of one horizon."""
    normalise: bool = True
    """Scale observations by the mean and deviation of all that were seen so far."""
    limit: int = 5_000_000
    """Samples after which an expert that is not good enough is given up."""


def plan_for(task: Task) -> Plan:
    """Of about 6,400 samples per iteration, and at least 16 streams to judge a policy by."""
    planner = TRPO(kl=task.expert_kl, critic=GAECritic(plan=Passes(10, 256)))
    return Plan(planner, streams=max(16, 6400 // task.horizon))


class ExpertProgress(NamedTuple):
    """A policy on its way to an expert."""

    iteration: int
    samples: int
    """Taken so far, those of this policy included."""
    stochastic_return: float
    """Of the first episode of each of its streams."""
    policy: AbstractPolicy


def train(
    make: Callable[[], gym.Env], *, horizon: int, seed: int, plan: Plan
) -> Iterator[ExpertProgress]:
    """Improve without end; the caller stops when the return suffices."""
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
    """Mean return of the episodes that streams of one horizon begin with: each comes to its end,
    whatever its length, so that none is preferred."""
    ends = rollout.terminal | rollout.truncated
    first = np.cumsum(ends, axis=1) - ends == 0
    return float((rewards * first).sum(1).mean())


class RunningScale:
    """Mean and deviation of all states seen."""

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
        deviation = np.sqrt(np.maximum(self.squares / self.count - mean**2, 1e-8))
        return Normaliser(jnp.asarray(mean, jnp.float32), jnp.asarray(deviation, jnp.float32))


def rescaled(state: PlannerState, normaliser: Normaliser) -> PlannerState:
    """The same networks on newly scaled observations."""
    where = lambda s: (s.policy.normaliser, s.critic.critic.normaliser)
    return eqx.tree_at(where, state, (normaliser, normaliser))
