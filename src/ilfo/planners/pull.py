"""A pull towards inferred actions: a term of a planner's objective.

    surrogate(π) + Σ weight · (-log π(â|s)) / n    over n demonstrated states s

DAPG (Rajeswaran et al., 2018) adds such a term with the expert's own actions; here the actions are
inferred, and each has a weight of its own.
"""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import with_noise


class Pull(eqx.Module):
    """Demonstrated states, the action that was inferred for each, and how strongly it pulls."""

    states: Float[Array, "n S"]
    actions: Array
    weight: Float[Array, " n"]
    scatter: float | Float[Array, ""] = 0.0
    """Variance of the expert's actions around the inferred ones."""

    def __call__(self, policy: AbstractPolicy) -> Float[Array, ""]:
        """Weighted mean of -log π(â|s), for the whole noise of the policy: it is fitted to how the
        actions scatter, however much of it acts."""
        policy = with_noise(policy, 1.0)
        losses = jax.vmap(lambda s, a: -policy.distribution(s).log_prob_around(a, self.scatter))(
            self.states, self.actions
        )
        return (self.weight * losses).mean()
