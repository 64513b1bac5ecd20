"""Policies in NumPy, for the loop that steps real environments.

For one small batch per environment step, calling a compiled JAX function costs more than a step of
CartPole; the same arithmetic in NumPy costs less. Several seeds act in one call: all parameters
have a leading axis K. A policy of another class than the package's own is compiled after all.
"""

import itertools
from collections.abc import Sequence
from typing import get_args

import equinox as eqx
import jax
import numpy as np

from ilfo.policies.base import AbstractPolicy
from ilfo.policies.compiled import CompiledPolicy
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import (
    CategoricalMLP,
    GaussianMLP,
    MultiCategoricalMLP,
    StateNoiseMLP,
    between,
)
from ilfo.policies.squashed import LOG_STD_MAX, LOG_STD_MIN, SquashedMLP

NETWORKS = CategoricalMLP | MultiCategoricalMLP | GaussianMLP | StateNoiseMLP | SquashedMLP
"""Policies that are one network."""
MIRRORED = (*get_args(NETWORKS), LatentPolicy)
"""Classes whose arithmetic is repeated here."""


class HostPolicy:
    """A NumPy copy of a policy whose arrays all have a leading axis K (seeds)."""

    def __init__(self, policy: AbstractPolicy):
        self._latent: HostPolicy | None = None
        self._other: CompiledPolicy | None = None
        if type(policy) not in MIRRORED:  # a subclass may compute something else
            self._other = CompiledPolicy(policy)
            return
        if isinstance(policy, LatentPolicy):
            self._latent, policy = HostPolicy(policy.latent), policy.remap
        assert isinstance(policy, NETWORKS)
        self._discrete = isinstance(policy, CategoricalMLP | MultiCategoricalMLP)
        self._counts = policy.counts if isinstance(policy, MultiCategoricalMLP) else None
        self._squashed = isinstance(policy, SquashedMLP)
        layers = policy.network.layers
        self._weights = [np.asarray(layer.weight) for layer in layers]
        self._biases = [np.asarray(layer.bias)[:, None] for layer in layers]
        self._shift = np.asarray(policy.normaliser.shift)[:, None]
        self._scale = np.asarray(policy.normaliser.scale)[:, None]
        if isinstance(policy, GaussianMLP):
            bounded = np.clip(np.asarray(policy.log_std), policy.log_std_min, policy.log_std_max)
            self._std = np.exp(bounded)[:, None]
        self._bounds: tuple[float, float] | None = None
        self._log_factor: np.ndarray | float = 0.0
        if isinstance(policy, StateNoiseMLP):
            self._bounds = policy.log_std_min, policy.log_std_max
            if policy.log_factor is not None:
                self._log_factor = np.asarray(policy.log_factor)[:, None, None]

    @staticmethod
    def single(policy: AbstractPolicy) -> "HostPolicy":
        """From a policy without the axis of seeds; K is 1."""
        arrays, static = eqx.partition(policy, eqx.is_array)
        return HostPolicy(eqx.combine(jax.tree.map(lambda x: x[None], arrays), static))

    def outputs(self, states: np.ndarray) -> np.ndarray:
        """Logits or means (K, N, ·) for states (K, N, S); where the noise depends on the state, the
        means are followed by the network's outputs for it."""
        if self._latent is not None:
            latent = self._latent.outputs(states)
            chosen = np.eye(latent.shape[-1], dtype=np.float32)[latent.argmax(-1)]
            states = np.concatenate([states, chosen], -1)
        x = (states - self._shift) / self._scale
        for weight, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            x = x @ weight + bias
            x = np.maximum(x, 0) if self._squashed else np.tanh(x)
        return x @ self._weights[-1] + self._biases[-1]

    def mode(self, states: np.ndarray) -> np.ndarray:
        """The most likely action for each state."""
        if self._other is not None:
            return self._other.mode(states)
        out = self.outputs(states)
        if self._squashed:
            return np.tanh(np.split(out, 2, axis=-1)[0])
        if self._bounds is not None:
            return np.split(out, 2, axis=-1)[0]
        return self._likeliest(out) if self._discrete else out

    def sample(self, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Random actions; `noise` comes from `draw_noise`, one row per state."""
        if self._other is not None:
            return self._other.sample(states, noise)
        out = self.outputs(states)
        if self._squashed:
            mean, log_std = np.split(out, 2, axis=-1)
            return np.tanh(mean + np.exp(np.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)) * noise)
        if self._bounds is not None:
            mean, free = np.split(out, 2, axis=-1)
            log_std = between(free, *self._bounds, np) + self._log_factor
            return mean + np.exp(log_std) * noise
        if not self._discrete:
            return out + self._std * noise
        return self._likeliest(out + noise)

    def _likeliest(self, logits: np.ndarray) -> np.ndarray:
        if self._counts is None:
            return logits.argmax(-1).astype(np.int32)
        entries = np.split(logits, np.cumsum(self._counts)[:-1], axis=-1)
        return np.stack([entry.argmax(-1) for entry in entries], -1).astype(np.int32)

    def draw_noise(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Gumbel noise for discrete actions, normal noise for continuous ones; (*shape, ·)."""
        if self._other is not None:
            return self._other.draw_noise(generator, shape)
        outputs = self._biases[-1].shape[-1]
        in_halves = self._squashed or self._bounds is not None
        full = (*shape, outputs // 2 if in_halves else outputs)
        if self._discrete:
            return generator.gumbel(size=full).astype(np.float32)
        return generator.standard_normal(full, dtype=np.float32)


class HostPolicies:
    """Several policies that share the streams of each seed: the first acts in the first of them."""

    def __init__(self, policies: Sequence[HostPolicy], streams: Sequence[int]):
        self._policies = policies
        ends = np.cumsum([0, *streams])
        self._parts = [slice(*bounds) for bounds in itertools.pairwise(ends)]

    def sample(self, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Random actions (K, N, ·) for states (K, N, S), each by the policy of its stream."""
        acted = [
            policy.sample(states[:, part], noise[:, part])
            for policy, part in zip(self._policies, self._parts, strict=True)
        ]
        return np.concatenate(acted, axis=1)

    def draw_noise(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """As a single policy draws it."""
        return self._policies[0].draw_noise(generator, shape)
