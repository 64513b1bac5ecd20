"""Policies that are tanh networks: categorical or Gaussian over actions.

The last layer is initialised near zero, so that the initial policy is close to uniform (or to
N(0, σ₀²)) in every state.
"""

import math
from dataclasses import replace
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.networks import MLP, mlp
from ilfo.common.spaces import ActionSpace, DiscreteActions, MultiDiscreteActions
from ilfo.common.types import Normaliser
from ilfo.common.validation import require_at_least
from ilfo.policies.base import AbstractPolicy, Categorical, Gaussian, MultiCategorical

NEAR = 0.01
"""The least distance of the initial log σ from its bounds, as a share of what is between them,
where it depends on the state."""


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


class StateNoiseMLP(AbstractPolicy):
    """A network for the mean of continuous actions and for their standard deviation, so that a
    policy can be sure in one state and try things in another."""

    network: MLP
    """Its outputs are the mean, followed by where log σ lies between its bounds, before a logistic
    function: at a bound it still has a gradient."""
    normaliser: Normaliser
    log_std_min: float
    log_std_max: float
    log_factor: Float[Array, ""] | None = None
    """Logarithm of what the standard deviation is multiplied by in acting; nothing learns it, and
    the bounds are those before it."""

    def distribution(self, state: Float[Array, " S"]) -> Gaussian:
        mean, free = jnp.split(self.network(jax.lax.stop_gradient(self.normaliser)(state)), 2)
        log_std = between(free, self.log_std_min, self.log_std_max, jnp)
        if self.log_factor is not None:
            log_std = log_std + jax.lax.stop_gradient(self.log_factor)
        return Gaussian(mean, log_std)


def between(free: Any, low: float, high: float, numpy: Any) -> Any:
    """Numbers between two bounds from numbers without any; `numpy` is the module that computes."""
    return low + (high - low) * (0.5 + 0.5 * numpy.tanh(0.5 * free))


Policy = TypeVar("Policy", bound=AbstractPolicy)


def with_noise(policy: Policy, factor: float | Float[Array, ""]) -> Policy:
    """The same policy, acting with this multiple of its noise, where that depends on the state;
    a policy with other noise stays as it is."""
    if not isinstance(policy, StateNoiseMLP):
        return policy
    log_factor = jnp.log(jnp.asarray(factor, jnp.float32))
    return replace(policy, log_factor=log_factor)


def within_bounds(policy: Policy) -> Policy:
    """The same policy, with standard deviations outside their bounds moved to the bounds. Outside
    they have no gradient and would never come back."""
    if not isinstance(policy, GaussianMLP):
        return policy
    log_std = jnp.clip(policy.log_std, policy.log_std_min, policy.log_std_max)
    return eqx.tree_at(lambda p: p.log_std, policy, log_std)


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
    state_noise: bool = False
    """The standard deviation depends on the state, as the mean does; otherwise it is the same in
    every state. Box actions only."""

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
        discrete = isinstance(actions, DiscreteActions | MultiDiscreteActions)
        outputs = actions.encoded_dim * (2 if self.state_noise and not discrete else 1)
        network = mlp(state_dim, outputs, self.width, self.depth, jnp.tanh, key=key)
        last = lambda net: (net.layers[-1].weight, net.layers[-1].bias)
        network = eqx.tree_at(last, network, [0.01 * leaf for leaf in last(network)])
        if isinstance(actions, DiscreteActions):
            return CategoricalMLP(network, normaliser)
        if isinstance(actions, MultiDiscreteActions):
            return MultiCategoricalMLP(network, normaliser, actions.counts)
        if self.state_noise:
            first = self._initial_noise() * (jnp.arange(outputs) >= actions.encoded_dim)
            bias = lambda net: net.layers[-1].bias
            network = eqx.tree_at(bias, network, bias(network) + first)
            return StateNoiseMLP(network, normaliser, self.log_std_min, self.log_std_max)
        # `jnp.full` would give a weak type, and the first update would compile everything again
        log_std = self.initial_log_std * jnp.ones(actions.encoded_dim)
        return GaussianMLP(network, log_std, normaliser, self.log_std_min, self.log_std_max)

    @property
    def initial_variance(self) -> float:
        """Variance of the initial noise."""
        return math.exp(2 * min(max(self.initial_log_std, self.log_std_min), self.log_std_max))

    def _initial_noise(self) -> float:
        """What `between` takes to the initial log σ; at most nearly to a bound."""
        width = self.log_std_max - self.log_std_min
        share = (self.initial_log_std - self.log_std_min) / width if width else 0.5
        share = min(max(share, NEAR), 1 - NEAR)
        return math.log(share / (1 - share))
