"""Features φ(x) of a step x = (state, encoded action) for models that are linear in them.

    random Fourier   φ(x) = m^-½ (cos Ωx, sin Ωx), Ω ~ N(0, 1/bandwidth²);  ‖φ‖ = 1
    polynomial       all monomials up to a degree, so that φ(x)·φ(y) = ((1 + x·y)/(1 + n))^degree
    one-hot          1 at the pair (s, a), 0 elsewhere; a state is the index of its largest entry

The kernel k(x, y) of features is φ(x)·φ(y) or, for random features, its limit. Shapes: n inputs,
D features.
"""

import abc
import math
from collections import Counter
from itertools import combinations_with_replacement

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ilfo.common.spaces import ActionSpace, DiscreteActions
from ilfo.common.validation import require_at_least, require_positive


class FittedFeatures(eqx.Module):
    """Features of a known number of inputs."""

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """D, the number of features."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " D"]:
        """φ(x)."""

    @abc.abstractmethod
    def kernel(self, x: Float[Array, " n"], y: Float[Array, " n"]) -> Float[Array, ""]:
        """k(x, y)."""


class AbstractFeatures(eqx.Module):
    """Hyper-parameters of features."""

    def check_states(self, states: np.ndarray) -> None:
        """Raise ValueError if the features cannot be used with states like these (n, S)."""

    @abc.abstractmethod
    def init(self, state_dim: int, actions: ActionSpace, *, key: Array) -> FittedFeatures:
        """The features for these states and actions."""


class FittedFourier(FittedFeatures):
    frequencies: Float[Array, "n m"]
    bandwidth: Float[Array, ""]

    @property
    def dim(self):
        return 2 * self.frequencies.shape[1]

    def __call__(self, x):
        phase = x @ self.frequencies
        waves = jnp.concatenate([jnp.cos(phase), jnp.sin(phase)])
        return waves / math.sqrt(self.frequencies.shape[1])

    def kernel(self, x, y):
        return jnp.exp(-0.5 * ((x - y) ** 2).sum() / self.bandwidth**2)


class RandomFourier(AbstractFeatures):
    """Random Fourier features of the RBF kernel."""

    count: int = 128
    """Number of random frequencies; each gives a cosine and a sine."""
    bandwidth: float = 4.0
    """Bandwidth of the RBF kernel, in units of the scaled inputs."""

    def __post_init__(self):
        require_at_least(self, 1, "count")
        require_positive(self, "bandwidth")

    def init(self, state_dim, actions, *, key):
        shape = (state_dim + actions.encoded_dim, self.count)
        bandwidth = jnp.asarray(self.bandwidth, jnp.float32)
        return FittedFourier(jax.random.normal(key, shape) / bandwidth, bandwidth)


class FittedPolynomial(FittedFeatures):
    factors: Int[Array, "D degree"]
    """Which entries of (1, x) each monomial multiplies."""
    coefficients: Float[Array, " D"]

    @property
    def dim(self):
        return self.factors.shape[0]

    def __call__(self, x):
        one_and_x = jnp.concatenate([jnp.ones(1), x])
        return self.coefficients * one_and_x[self.factors].prod(-1)

    def kernel(self, x, y):
        return ((1 + x @ y) / (1 + x.shape[0])) ** self.factors.shape[1]


class Polynomial(AbstractFeatures):
    """All monomials up to a degree."""

    degree: int = 3
    """Degree; 1 is linear."""

    def __post_init__(self):
        require_at_least(self, 1, "degree")

    def init(self, state_dim, actions, *, key):
        inputs = state_dim + actions.encoded_dim
        factors = list(combinations_with_replacement(range(1 + inputs), self.degree))
        ways = [
            math.factorial(self.degree) / math.prod(map(math.factorial, Counter(f).values()))
            for f in factors
        ]
        scale = (1 + inputs) ** (-self.degree / 2)
        return FittedPolynomial(
            jnp.asarray(factors, jnp.int32), scale * jnp.sqrt(jnp.asarray(ways, jnp.float32))
        )


class FittedOneHot(FittedFeatures):
    states: int
    actions: int

    @property
    def dim(self):
        return self.states * self.actions

    def __call__(self, x):
        return jax.nn.one_hot(self._index(x), self.dim)

    def kernel(self, x, y):
        return (self._index(x) == self._index(y)).astype(jnp.float32)

    def _index(self, x):
        return jnp.argmax(x[: self.states]) * self.actions + jnp.argmax(x[self.states :])


class OneHot(AbstractFeatures):
    """One feature per pair of state and action. States must be one-hot vectors, as made by
    `gymnasium.wrappers.FlattenObservation`; actions must be discrete."""

    def check_states(self, states):
        require_one_hot(states)

    def init(self, state_dim, actions, *, key):
        return FittedOneHot(state_dim, count_actions(actions))


def require_one_hot(states: np.ndarray) -> None:
    """Raise ValueError unless every row of `states` (n, S) is a one-hot vector."""
    if not (np.isin(states, (0, 1)).all() and (states.sum(-1) == 1).all()):
        raise ValueError(
            "tabular models need states that are one-hot vectors, but the demonstrated states are "
            "not; choose other dynamics or features, for example --dynamics knr"
        )


def count_actions(actions: ActionSpace) -> int:
    """Number of discrete actions; raises ValueError for continuous ones."""
    if not isinstance(actions, DiscreteActions):
        raise ValueError(
            f"a tabular model needs Discrete actions, but these are {actions}; choose other "
            "dynamics or features"
        )
    return actions.count
