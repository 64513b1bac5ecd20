"""Collecting a fixed number of environment steps with the current policies, on the host."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ilfo.common.seeding import Purpose, stream_seed
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Rollout
from ilfo.policies.host import HostPolicies, HostPolicy
from ilfo.rollouts.stepping import observe, step


def collect(
    environments: Sequence[gym.Env],
    policy: HostPolicy | HostPolicies,
    actions: ActionSpace,
    *,
    seeds: Sequence[int],
    iteration: int,
    steps: int,
) -> tuple[Rollout, np.ndarray]:
    """Take exactly `steps` steps in every environment, with the stochastic policies of K seeds.

    `environments` holds K·N environments, the N streams of the first seed first. Each stream
    starts with a reset seeded by (seed, iteration, stream) and is reset after every episode; a
    reset does not count as a step. Returns the rollout as NumPy arrays (K, N, T, …) and the
    rewards (K, N, T).
    """
    k, n = len(seeds), len(environments) // len(seeds)
    assert k * n == len(environments), "every seed has the same number of streams"
    noise = np.stack(
        [
            policy.draw_noise(np.random.default_rng([seed, Purpose.ACT, iteration]), (steps, n))
            for seed in seeds
        ],
        axis=1,
    )  # (T, K, N, ·)
    names = [(seed, Purpose.COLLECT, iteration, stream) for seed in seeds for stream in range(n)]
    current = reset(environments, names)
    dim = current.shape[-1]
    states, following = np.empty((2, k * n, steps, dim), np.float32)
    rewards = np.zeros((k * n, steps), np.float32)
    terminal, truncated, runaway = np.zeros((3, k * n, steps), bool)
    elapsed = np.zeros((k * n, steps), np.int32)
    drawn: list[np.ndarray] = []
    age = np.zeros(k * n, np.int32)
    for t in range(steps):
        action = policy.sample(current.reshape(k, n, dim), noise[t])
        drawn.append(action.reshape(k * n, *action.shape[2:]))
        states[:, t], elapsed[:, t] = current, age
        age += 1
        executed = actions.to_environment(drawn[-1])
        for i, env in enumerate(environments):
            observation, rewards[i, t], ends, stops = step(env, executed[i])
            following[i, t] = current[i] = observe(env, observation)
            terminal[i, t], truncated[i, t] = ends, stops and not ends
            if ends or stops:
                age[i] = 0
                if t + 1 < steps:
                    current[i] = observe(env, env.reset()[0])
    truncated[:, -1] |= ~terminal[:, -1]
    by_seed: Any = lambda x: x.reshape(k, n, *x.shape[1:])
    steps_taken = (states, np.stack(drawn, 1), following, terminal)
    columns = (*steps_taken, runaway, truncated, ~runaway, elapsed)
    return Rollout(*map(by_seed, columns)), by_seed(rewards)


def reset(environments: Sequence[gym.Env], names: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Reset one environment for each name, seeded by it, and return the first states (N, S)."""
    first = [
        observe(env, env.reset(seed=stream_seed(*name))[0])
        for env, name in zip(environments, names, strict=False)
    ]
    return np.stack(first)
