"""Policies in NumPy, for the loop that steps real environments.

Calling into compiled code for one small batch per step costs more than CartPole itself; the same
arithmetic in NumPy does not. Several seeds act in one call: parameters carry a leading axis K.
"""

import equinox as eqx
import jax
import numpy as np

from ilfo.policies.base import AbstractPolicy
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import CategoricalMLP, GaussianMLP


class HostPolicy:
    """Built from a policy whose every array has a leading axis K (seeds)."""

    def __init__(self, policy: AbstractPolicy):
        self._latent: HostPolicy | None = None
        if isinstance(policy, LatentPolicy):
            self._latent, policy = HostPolicy(policy.latent), policy.remap
        if not isinstance(policy, CategoricalMLP | GaussianMLP):
            raise TypeError(f"no NumPy version of {type(policy).__name__} exists")
        self._discrete = isinstance(policy, CategoricalMLP)
        layers = policy.network.layers
        self._weights = [np.asarray(layer.weight) for layer in layers]
        self._biases = [np.asarray(layer.bias)[:, None] for layer in layers]
        self._shift = np.asarray(policy.normaliser.shift)[:, None]
        self._scale = np.asarray(policy.normaliser.scale)[:, None]
        if isinstance(policy, GaussianMLP):
            bounded = np.clip(np.asarray(policy.log_std), policy.log_std_min, policy.log_std_max)
            self._std = np.exp(bounded)[:, None]

    @staticmethod
    def single(policy: AbstractPolicy) -> "HostPolicy":
        """From a policy without the seed axis; it then acts with K = 1."""
        arrays, static = eqx.partition(policy, eqx.is_array)
        return HostPolicy(eqx.combine(jax.tree.map(lambda x: x[None], arrays), static))

    def outputs(self, states: np.ndarray) -> np.ndarray:
        """Logits or means, (K, N, ·), for states (K, N, S)."""
        if self._latent is not None:
            latent = self._latent.outputs(states)
            chosen = np.eye(latent.shape[-1], dtype=np.float32)[latent.argmax(-1)]
            states = np.concatenate([states, chosen], -1)
        x = (states - self._shift) / self._scale
        for weight, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            x = np.tanh(x @ weight + bias)
        return x @ self._weights[-1] + self._biases[-1]

    def mode(self, states: np.ndarray) -> np.ndarray:
        out = self.outputs(states)
        return out.argmax(-1).astype(np.int32) if self._discrete else out

    def sample(self, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """`noise` as drawn by `draw_noise`, one row per state."""
        out = self.outputs(states)
        if not self._discrete:
            return out + self._std * noise
        return (out + noise).argmax(-1).astype(np.int32)

    def draw_noise(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Gumbel noise for numbered actions, normal noise for real ones; float32 (*shape, ·)."""
        full = (*shape, self._biases[-1].shape[-1])
        if self._discrete:
            return generator.gumbel(size=full).astype(np.float32)
        return generator.standard_normal(full, dtype=np.float32)
