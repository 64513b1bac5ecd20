"""Policies that are tanh networks: categorical or Gaussian over actions.

The last layer is initialised near zero, so that the initial policy is close to uniform (or to
N(0, σ₀²)) in every state.
"""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.networks import MLP, mlp
from ilfo.common.spaces import ActionSpace, DiscreteActions, MultiDiscreteActions
from ilfo.common.types import Normaliser
from ilfo.common.validation import require_at_least
from ilfo.policies.base import AbstractPolicy, Categorical, Gaussian, MultiCategorical


class CategoricalMLP(AbstractPolicy):
    """A network for the logits of discrete actions."""

    network: MLP
    normaliser: Normaliser

    def distribution(self, state):
        return Categorical(self.network(jax.lax.stop_gradient(self.normaliser)(state)))


class MultiCategoricalMLP(AbstractPolicy):
    """A network for the logits of every entry of a vector of discrete actions."""

    network: MLP
    normaliser: Normaliser
    counts: tuple[int, ...] = eqx.field(static=True)

    def distribution(self, state):
        logits = self.network(jax.lax.stop_gradient(self.normaliser)(state))
        return MultiCategorical(logits, self.counts)


class GaussianMLP(AbstractPolicy):
    """A network for the mean of continuous actions; the standard deviation is the same in every
    state and is kept between its bounds."""

    network: MLP
    log_std: Float[Array, " A"]
    normaliser: Normaliser
    log_std_min: float
    log_std_max: float

    def distribution(self, state):
        mean = self.network(jax.lax.stop_gradient(self.normaliser)(state))
        return Gaussian(mean, jnp.clip(self.log_std, self.log_std_min, self.log_std_max))


Policy = TypeVar("Policy", bound=AbstractPolicy)


def within_bounds(policy: Policy) -> Policy:
    """The same policy, with standard deviations outside their bounds moved to the bounds. Outside
    they have no gradient and would never come back."""
    if not isinstance(policy, GaussianMLP):
        return policy
    log_std = jnp.clip(policy.log_std, policy.log_std_min, policy.log_std_max)
    return eqx.tree_at(lambda p: p.log_std, policy, log_std)


def with_bound(policy: Policy, log_std_min: float) -> Policy:
    """The same policy with another lower bound of its standard deviations; discrete actions have
    none."""
    if not isinstance(policy, GaussianMLP):
        return policy
    return within_bounds(eqx.tree_at(lambda p: p.log_std_min, policy, log_std_min))


def no_noisier_than(policy: Policy, other: AbstractPolicy) -> Policy:
    """The same policy, but with the other's standard deviations, and their bound, where those are
    smaller; discrete actions stay as they are."""
    if not (isinstance(policy, GaussianMLP) and isinstance(other, GaussianMLP)):
        return policy
    log_std = jnp.minimum(within_bounds(policy).log_std, within_bounds(other).log_std)
    place = lambda p: (p.log_std, p.log_std_min)
    return eqx.tree_at(place, policy, (log_std, other.log_std_min))


class MLPPolicy(eqx.Module):
    """Hyper-parameters of a policy network: categorical for discrete actions, else Gaussian."""

    width: int = 64
    """Units in each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    initial_log_std: float = -0.5
    """Logarithm of the initial standard deviation. Box actions only, scaled to [-1, 1]."""
    log_std_min: float = -2.5
    """Lower bound of the logarithm, so that the policy never stops exploring."""
    log_std_max: float = 1.0
    """Upper bound of the logarithm."""

    def __post_init__(self):
        require_at_least(self, 1, "width")
        require_at_least(self, 0, "depth")
        if self.log_std_min > self.log_std_max:
            raise ValueError(
                f"log_std_min is {self.log_std_min}, but must not be above log_std_max, which is "
                f"{self.log_std_max}"
            )

    def init(
        self, state_dim: int, actions: ActionSpace, normaliser: Normaliser, *, key: Array
    ) -> AbstractPolicy:
        """A policy with random weights; `normaliser` scales its inputs."""
        network = mlp(state_dim, actions.encoded_dim, self.width, self.depth, jnp.tanh, key=key)
        last = lambda net: (net.layers[-1].weight, net.layers[-1].bias)
        network = eqx.tree_at(last, network, [0.01 * leaf for leaf in last(network)])
        if isinstance(actions, DiscreteActions):
            return CategoricalMLP(network, normaliser)
        if isinstance(actions, MultiDiscreteActions):
            return MultiCategoricalMLP(network, normaliser, actions.counts)
        # `jnp.full` would give a weak type, and the first update would compile everything again
        log_std = self.initial_log_std * jnp.ones(actions.encoded_dim)
        return GaussianMLP(network, log_std, normaliser, self.log_std_min, self.log_std_max)
