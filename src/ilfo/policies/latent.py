"""A policy in two stages: the likeliest latent action, then the action it stands for."""

import jax
import jax.numpy as jnp

from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import CategoricalMLP


class LatentPolicy(AbstractPolicy):
    latent: CategoricalMLP
    """π(z|s)."""
    remap: CategoricalMLP
    """π(a|s, z); its input is the state followed by z as one-hot."""

    def distribution(self, state):
        logits = self.latent.distribution(state).logits
        chosen = jax.nn.one_hot(jnp.argmax(logits), logits.shape[0])
        return self.remap.distribution(jnp.concatenate([state, chosen]))
