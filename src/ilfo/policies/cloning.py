"""Fits a policy to pairs of states and actions by maximum likelihood.

    minimise  - E log π(a|s)

The actions are the expert's (BC), those inferred by an inverse model (BC-O), or the agent's own,
each with the latent action that explains its effect (ILPO).
"""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common import fitting as training
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import within_bounds

Policy = TypeVar("Policy", bound=AbstractPolicy)


class Cloning(eqx.Module):
    """Hyper-parameters of the fit."""

    optimiser: training.AbstractOptimiser = training.Adam(1e-3)
    """Optimiser of the policy."""
    plan: training.Passes = training.Passes(passes=1, batch_size=128)
    """Passes over the pairs and batch size per fit."""

    def init(self, policy: AbstractPolicy) -> Any:
        """The optimiser's initial state."""
        return self.optimiser.build().init(eqx.filter(policy, eqx.is_inexact_array))

    def fit(
        self,
        policy: Policy,
        optimiser: Any,
        pairs: tuple[Float[Array, "n S"], Array],
        valid: Bool[Array, " n"],
        *,
        key: Array,
    ) -> tuple[Policy, Any, Float[Array, ""]]:
        """The fitted policy, the optimiser's state and the loss of the last pass."""
        policy, optimiser, loss = training.fit(
            negative_log_likelihood,
            policy,
            optimiser,
            self.optimiser.build(),
            training.Dataset(pairs, valid),
            self.plan,
            key=key,
        )
        return within_bounds(policy), optimiser, loss


def negative_log_likelihood(
    policy: AbstractPolicy, pairs: tuple[Float[Array, "n S"], Array], weight: Float[Array, " n"]
) -> Float[Array, ""]:
    """Weighted mean of -log π(a|s)."""
    states, actions = pairs
    losses = jax.vmap(lambda s, a: -policy.distribution(s).log_prob(a))(states, actions)
    return (weight * losses).sum() / jnp.maximum(weight.sum(), 1.0)
