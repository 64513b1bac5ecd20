"""Trajectories: `collect` in real environments on the host, `imagine` in a learned model."""

import functools
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ilfo.dynamics.base import AbstractModel
from ilfo.environments.spaces import ActionSpace
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.randomness import Purpose, stream_seed
from ilfo.termination import AbstractRule
from ilfo.types import Normaliser, Rollout


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


def imagine(
    policy: AbstractPolicy,
    model: AbstractModel,
    rule: AbstractRule,
    actions: ActionSpace,
    starts: Float[Array, "N S"],
    region: tuple[Normaliser, Float[Array, ""]],
    horizon: int,
    *,
    key: Array,
) -> Rollout:
    """Let the policy act in the model, one trajectory of `horizon` steps from each start.

    A trajectory ends when `rule` says so, or runs away when its normalised norm leaves `region`
    (normaliser, radius) or is not a number; what follows is marked invalid. Each trajectory
    follows one member of the model: number i the member i mod M.
    """
    normaliser, radius = region

    def trajectory(hypothesis: AbstractModel, start: Float[Array, " S"], key: Array):
        def step(state: Float[Array, " S"], randomness):
            noise, model_key = randomness
            action = policy.distribution(state).sample(noise)
            reached = hypothesis.sample(state, actions.execute(action), key=model_key)
            inside = ((normaliser(reached) ** 2).sum() <= radius**2) & jnp.isfinite(reached).all()
            reached = jnp.where(inside, reached, state)
            return reached, (state, action, reached, inside)

        act_key, model_key = jax.random.split(key)
        noise = policy.distribution(start).noise(horizon, key=act_key)
        return jax.lax.scan(step, start, (noise, jax.random.split(model_key, horizon)))[1]

    # Dealt out by member, each one's networks see their own trajectories, all at once, and no
    # others. Endings are found afterwards: inside the loop every small operation counts.
    count, members = starts.shape[0], model.members
    lanes = jnp.arange(-(-count // members) * members).reshape(-1, members).T % count
    keys = jax.random.split(key, count)
    dealt = jax.vmap(
        lambda index, lane: jax.vmap(functools.partial(trajectory, model.member(index)))(
            starts[lane], keys[lane]
        )
    )(jnp.arange(members), lanes)
    in_order = lambda x: x.swapaxes(0, 1).reshape(-1, *x.shape[2:])[:count]
    state, action, reached, inside = jax.tree.map(in_order, dealt)
    terminal = inside & jax.vmap(jax.vmap(rule))(reached)
    ended = terminal | ~inside
    valid = jnp.cumsum(ended, axis=1) - ended == 0
    cut = jnp.zeros_like(valid).at[:, -1].set(valid[:, -1] & ~ended[:, -1])
    elapsed = jnp.broadcast_to(jnp.arange(horizon), valid.shape)
    return Rollout(state, action, reached, terminal & valid, ~inside & valid, cut, valid, elapsed)
