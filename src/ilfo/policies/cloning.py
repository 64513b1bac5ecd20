"""Fits a policy to pairs of states and actions by maximum likelihood.

    minimise  - E log π(a|s)

The actions are the expert's (BC), those inferred by an inverse model (BC-O), or the agent's own,
each with the latent action that explains its effect (ILPO).
"""

import functools
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ilfo.common import fitting as training
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import StateNoiseMLP, within_bounds

TINY = 1e-12
"""Least mean variance that is divided by: a batch may have no valid row."""

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
        scatter: float = 0.0,
    ) -> tuple[Policy, Any, Float[Array, ""]]:
        """The fitted policy, the optimiser's state and the loss of the last pass; `scatter` is the
        variance of the actions around those of the pairs."""
        policy, optimiser, loss = training.fit(
            functools.partial(negative_log_likelihood, scatter=scatter),
            policy,
            optimiser,
            self.optimiser.build(),
            training.Dataset(pairs, valid),
            self.plan,
            key=key,
        )
        return within_bounds(policy), optimiser, loss


def negative_log_likelihood(
    policy: AbstractPolicy,
    pairs: tuple[Float[Array, "n S"], Array],
    weight: Float[Array, " n"],
    scatter: float = 0.0,
) -> Float[Array, ""]:
    """Weighted mean of -log π(a|s), for actions that scatter around those of the pairs with that
    variance.

    Where the noise depends on the state, likelihood alone would fit the mean least where σ(s) is
    large. Hence every term counts by σ(s)², relative to its mean, which has no gradient: means are
    fitted alike in all states (β-NLL with β = 1; Seitzer et al., 2022).
    """
    states, actions = pairs
    if isinstance(policy, StateNoiseMLP):
        said = jax.vmap(policy.distribution)(states)
        losses = -jax.vmap(lambda said, a: said.log_probs_around(a, scatter))(said, actions)
        variance = jax.lax.stop_gradient(jnp.exp(2 * said.log_std))
        losses = (losses * variance / jnp.maximum(mean(variance, weight), TINY)).sum(-1)
    else:
        losses = jax.vmap(lambda s, a: -policy.distribution(s).log_prob_around(a, scatter))(
            states, actions
        )
    return mean(losses, weight)


def mean(values: Float[Array, "n ..."], weight: Float[Array, " n"]) -> Float[Array, "..."]:
    """Weighted mean over the rows; 0 if none counts."""
    rows = weight.reshape(-1, *(1 for _ in values.shape[1:]))
    return (rows * values).sum(0) / jnp.maximum(weight.sum(), 1.0)
