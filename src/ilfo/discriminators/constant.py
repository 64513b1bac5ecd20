"""Survival reference: every step before termination costs the same, -1.

It shows how much of a score is due to not terminating. What imitation adds is the difference to
that. The features, and the choice of the policy to return, are those of the wrapped discriminator.
"""

from dataclasses import replace

import jax.numpy as jnp

from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.mmd import MMD


class ConstantCost(AbstractDiscriminator):
    """A discriminator whose cost ignores the demonstrations."""

    wrapped: AbstractDiscriminator = MMD()
    """Discriminator whose features measure the distance to the demonstrations."""

    def init(self, sample, feature_map, *, key):
        return self.wrapped.init(sample, feature_map, key=key)

    def at_rate(self, every):
        return replace(self, wrapped=self.wrapped.at_rate(every))

    def floor(self, state, sample, horizon):
        return self.wrapped.floor(state, sample, horizon)

    def fit(self, state, policy_mean, expert_mean):
        return self.wrapped.fit(state, policy_mean, expert_mean)

    def cost(self, state, features):
        return jnp.full(features.shape[:-1], -1.0)

    def ending_costs(self, state):
        return jnp.zeros(()), jnp.zeros(())

    def total_features(self, features, rollout, occupancy):
        return self.wrapped.total_features(features, rollout, occupancy)
