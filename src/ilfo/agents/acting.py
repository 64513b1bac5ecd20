"""Acting with a policy: actions for observations, whole episodes, and rollouts to learn from."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from ilfo.agents.divergence import check_observations
from ilfo.agents.problem import Problem
from ilfo.common.types import Rollout
from ilfo.environments.factory import Factory
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicies, HostPolicy
from ilfo.rollouts.collect import collect
from ilfo.rollouts.episodes import Episode, play

if TYPE_CHECKING:
    from ilfo.agents.agent import Agent

PARALLEL_EPISODES = 10
"""Environments in which evaluation episodes are played side by side."""


class Predictor:
    """A single policy in the units of its environment."""

    def __init__(self, policy: AbstractPolicy, problem: Problem):
        self._host, self._problem = HostPolicy.single(policy), problem

    def __call__(
        self, observation: Any, generator: np.random.Generator, deterministic: bool
    ) -> np.ndarray:
        """An action for one observation, or one for each of a batch."""
        rows, shape = np.asarray(observation, np.float32), self._problem.observation_shape
        single = rows.shape == shape
        if not single and rows.shape[1:] != shape:
            raise ValueError(
                f"the observation has shape {rows.shape}, but must have {shape}, or one more "
                "axis in front for a batch"
            )
        rows = rows.reshape(1, -1, self._problem.state_dim)
        if deterministic:
            actions = self._host.mode(rows)[0]
        else:
            noise = self._host.draw_noise(generator, rows.shape[:2])
            actions = self._host.sample(rows, noise)[0]
        executed = np.stack(self._problem.actions.to_environment(actions))
        return executed[0] if single else executed


class EvaluationEnvironments:
    """Environments for evaluation: their steps and rewards have no part in learning."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._environments: list[gym.Env] = []

    def play(
        self,
        factory: Factory,
        policy: AbstractPolicy,
        *,
        episodes: int,
        seed: int,
        greedy: bool,
        purpose: int,
    ) -> Iterator[Episode]:
        if not self._environments:
            self._environments = factory.make_many(PARALLEL_EPISODES)
        return play(
            self._environments,
            HostPolicy.single(policy),
            self._problem.actions,
            episodes=episodes,
            seed=seed,
            purpose=purpose,
            greedy=greedy,
        )


def collect_rollout(
    agent: "Agent", sharing: Sequence[tuple[AbstractPolicy, int]] | None = None
) -> Rollout:
    """One rollout of each seed's policy in the environment; arrays have the axis of seeds.

    `sharing` lists policies that act instead, and the number of streams of each.
    """
    acting: HostPolicy | HostPolicies
    if sharing is None:
        acting = HostPolicy(agent.state.policy)
    else:
        policies, streams = zip(*sharing, strict=True)
        acting = HostPolicies([HostPolicy(policy) for policy in policies], streams)
    rollout, _ = collect(
        agent.environments,
        acting,
        agent.problem.actions,
        seeds=agent.seeds,
        iteration=agent.iteration,
        steps=agent.problem.horizon,
    )
    check_observations(rollout, agent.factory.name, agent.seeds, agent.iteration)
    return rollout
