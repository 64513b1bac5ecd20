"""Trajectories: `collect` in real environments on the host, `imagine` in a learned model."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ilfo.dynamics.base import AbstractModel
from ilfo.environments.spaces import ActionSpace
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.termination import AbstractRule
from ilfo.types import Normaliser, Rollout


class Purpose:
    """Namespaces of the random streams, so that no two purposes share a seed."""

    COLLECT, ACT, EVALUATE, RECORD, PREDICT = range(5)


def stream_seed(*parts: int) -> int:
    """A reset seed from what it is for: (seed, purpose, iteration, stream)."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


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
    noise = np.stack(
        [
            policy.draw_noise(np.random.default_rng([seed, Purpose.ACT, iteration]), (steps, n))
            for seed in seeds
        ],
        axis=1,
    )  # (T, K, N, ·)
    names = [(seed, Purpose.COLLECT, iteration, stream) for seed in seeds for stream in range(n)]
    current = np.stack(
        [
            observe(env.reset(seed=stream_seed(*name))[0])
            for env, name in zip(environments, names, strict=True)
        ]
    )
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
    columns: list[Any] = [
        x.reshape(k, n, *x.shape[1:])
        for x in (
            states,
            np.stack(drawn, 1),
            following,
            terminal,
            runaway,
            cut,
            ~runaway,
            elapsed,
        )
    ]
    return Rollout(*columns), rewards.reshape(k, n, steps)


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
) -> tuple[Rollout, Float[Array, "N T"]]:
    """Let the policy act in the model, one trajectory of `horizon` steps from each start.

    A trajectory ends when `rule` says so, or runs away when its normalised norm leaves `region`
    (normaliser, radius) or is not a number; what follows is marked invalid. Each trajectory
    follows one member of the model. Returns the rollout and the model's uncertainty per step.
    """
    normaliser, radius = region

    def stream(start: Float[Array, " S"], member: Int[Array, ""], key: Array):
        def step(carry: tuple[Float[Array, " S"], Bool[Array, ""]], randomness):
            state, alive = carry
            noise, model_key = randomness
            action = policy.distribution(state).sample(noise)
            executed = actions.execute(action)
            reached = model.sample(state, executed, member=member, key=model_key)
            inside = ((normaliser(reached) ** 2).sum() <= radius**2) & jnp.isfinite(reached).all()
            reached = jnp.where(inside, reached, state)
            terminal = alive & inside & rule(reached)
            runaway = alive & ~inside
            now = (state, action, reached, terminal, runaway, alive)
            uncertainty = model.uncertainty(state, executed)
            # where the model has no answer there is nothing to explore: NaN would spread
            uncertainty = jnp.where(jnp.isnan(uncertainty), 0.0, uncertainty)
            goes_on = alive & ~terminal & ~runaway
            return (jnp.where(goes_on, reached, state), goes_on), (now, uncertainty)

        act_key, model_key = jax.random.split(key)
        noise = policy.distribution(start).noise(horizon, key=act_key)
        randomness = (noise, jax.random.split(model_key, horizon))
        (_, going), (steps, uncertainty) = jax.lax.scan(step, (start, jnp.array(True)), randomness)
        state, action, reached, terminal, runaway, valid = steps
        cut = jnp.zeros_like(valid).at[-1].set(going)
        elapsed = jnp.arange(horizon)
        return Rollout(state, action, reached, terminal, runaway, cut, valid, elapsed), uncertainty

    count = starts.shape[0]
    return jax.vmap(stream)(starts, jnp.arange(count), jax.random.split(key, count))
