"""The survival reference: every step alive pays the same, whatever the demonstrations show.

How far does 'stay alive' alone get? What imitation adds is what lies above that. Features and the
choice of the policy to return are the wrapped discriminator's.
"""

import jax.numpy as jnp

from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.mmd import MMD


class ConstantCost(AbstractDiscriminator):
    wrapped: AbstractDiscriminator = MMD()
    """Whose features judge the policies."""

    def init(self, sample, feature_map, *, key):
        return self.wrapped.init(sample, feature_map, key=key)

    def fit(self, state, policy_mean, expert_mean):
        return self.wrapped.fit(state, policy_mean, expert_mean)

    def cost(self, state, features):
        return jnp.full(features.shape[:-1], -1.0)

    def ending_costs(self, state):
        return jnp.zeros(()), jnp.zeros(())

    def total_features(self, features, rollout, occupancy):
        return self.wrapped.total_features(features, rollout, occupancy)
