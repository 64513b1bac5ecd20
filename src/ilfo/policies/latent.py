"""A policy in two stages: the most likely latent action, then the action it maps to (ILPO)."""

import jax
import jax.numpy as jnp

from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import CategoricalMLP


class LatentPolicy(AbstractPolicy):
    """π(a|s) = π(a|s, z) with z = argmax π(z|s)."""

    latent: CategoricalMLP
    """π(z|s)."""
    remap: CategoricalMLP
    """π(a|s, z); its input is the state followed by z as a one-hot vector."""

    def distribution(self, state):
        logits = self.latent.distribution(state).logits
        chosen = jax.nn.one_hot(jnp.argmax(logits), logits.shape[0])
        return self.remap.distribution(jnp.concatenate([state, chosen]))
