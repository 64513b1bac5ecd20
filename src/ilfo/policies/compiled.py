"""Policies of any class on the host: their own code, compiled.

Slower for a few states than the NumPy copies of the package's policies, but it needs to know
nothing about them. The arrays have a leading axis K (seeds).
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from ilfo.policies.base import AbstractPolicy


class CompiledPolicy:
    """Acts with the distributions that a policy returns."""

    def __init__(self, policy: AbstractPolicy):
        self.policy = policy

    def mode(self, states: np.ndarray) -> np.ndarray:
        """The most likely action for each of the states (K, N, S)."""
        return np.asarray(_modes(self.policy, states))

    def sample(self, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Random actions; `noise` comes from `draw_noise`, one row per state."""
        return np.asarray(_samples(self.policy, states, noise[..., 0]))

    def draw_noise(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """A seed for every state: only the distribution itself knows what noise it needs."""
        return generator.integers(2**32, size=(*shape, 1), dtype=np.uint32)


@eqx.filter_jit
def _modes(policy: AbstractPolicy, states: Array | np.ndarray) -> Array:
    def of_seed(policy, states):
        return jax.vmap(lambda state: policy.distribution(state).mode())(states)

    return eqx.filter_vmap(of_seed)(policy, states)


@eqx.filter_jit
def _samples(
    policy: AbstractPolicy, states: Array | np.ndarray, seeds: Array | np.ndarray
) -> Array:
    def one(policy, state, seed):
        distribution = policy.distribution(state)
        return distribution.sample(distribution.noise(key=jax.random.key(seed)))

    def of_seed(policy, states, seeds):
        return jax.vmap(lambda state, seed: one(policy, state, seed))(states, seeds)

    return eqx.filter_vmap(of_seed)(policy, states, seeds)
