"""Trajectories: `collect` in real environments on the host, `imagine` in a learned model."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ilfo.common.seeding import Purpose, stream_seed
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Rollout
from ilfo.policies.host import HostPolicy


def observe(observation) -> np.ndarray:
    """A copy of an observation as a flat state."""
    return np.array(observation, np.float32).ravel()


def collect(
    environments: Sequence[gym.Env],
    policy: HostPolicy,
    actions: ActionSpace,
    *,
    seeds: Sequence[int],
    iteration: int,
    steps: int,
) -> tuple[Rollout, np.ndarray]:
    """Let each seed's policy act in its streams for exactly `steps` steps.

    `environments` holds K·N of them, the streams of the first seed first. Each stream starts with
    a reset whose seed follows from (seed, iteration, stream) and resets itself inside; a reset is
    never a step. Returns the rollout as NumPy arrays (K, N, T, …) and the rewards (K, N, T).
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
    terminal, cut, runaway = np.zeros((3, k * n, steps), bool)
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
            observation, rewards[i, t], ends, stops, _ = env.step(executed[i])
            following[i, t] = current[i] = observe(observation)
            terminal[i, t], cut[i, t] = ends, stops and not ends
            if ends or stops:
                age[i] = 0
                if t + 1 < steps:
                    current[i] = observe(env.reset()[0])
    cut[:, -1] |= ~terminal[:, -1]
    by_seed: Any = lambda x: x.reshape(k, n, *x.shape[1:])
    columns = (states, np.stack(drawn, 1), following, terminal, runaway, cut, ~runaway, elapsed)
    return Rollout(*map(by_seed, columns)), by_seed(rewards)


def reset(environments: Sequence[gym.Env], names: Sequence[tuple[int, ...]]) -> np.ndarray:
    """First states (N, S) of as many environments as there are names, each seeded by its own."""
    first = [
        observe(env.reset(seed=stream_seed(*name))[0])
        for env, name in zip(environments, names, strict=False)
    ]
    return np.stack(first)
