"""Squashed Gaussian policies (SAC): tanh of a Gaussian whose mean and standard deviation both
depend on the state.

    a = tanh(u),   u ~ N(μ(s), σ(s)²),   log π(a|s) = log N(u; μ, σ²) - Σ log(1 - tanh²(u))
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ilfo.common.networks import MLP, mlp
from ilfo.common.types import Normaliser
from ilfo.policies.base import AbstractDistribution, AbstractPolicy, Gaussian

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0
"""Bounds of the logarithm of σ."""
INSIDE = 1 - 1e-6
"""Actions are moved this far inside [-1, 1] before tanh is inverted."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)


class SquashedGaussian(AbstractDistribution):
    """Over actions in [-1, 1]^A, independent in each dimension."""

    mean: Float[Array, " A"]
    """μ, before squashing."""
    log_std: Float[Array, " A"]
    """log σ, before squashing."""

    @property
    def base(self) -> Gaussian:
        """The distribution before squashing."""
        return Gaussian(self.mean, self.log_std)

    def noise(self, *shape, key):
        return self.base.noise(*shape, key=key)

    def sample(self, noise):
        return jnp.tanh(self.base.sample(noise))

    def sample_with_log_prob(
        self, noise: Float[Array, " A"]
    ) -> tuple[Float[Array, " A"], Float[Array, ""]]:
        """The action for one row of noise, and its log-density, exact where tanh saturates."""
        u = self.base.sample(noise)
        return jnp.tanh(u), (self.base.log_probs_of_noise(noise) - log_slope(u)).sum()

    def mode(self):
        """tanh(μ), the median; the density has its maximum elsewhere if σ is large."""
        return jnp.tanh(self.mean)

    def log_prob(self, action):
        u = jnp.arctanh(jnp.clip(action, -INSIDE, INSIDE))
        return self.base.log_prob(u) - log_slope(u).sum()

    def kl(self, other):
        return self.base.kl(other.base)  # squashing both changes nothing

    def entropy(self):
        """The integral over the noise is by Gauss-Hermite quadrature."""
        u = self.mean + jnp.exp(self.log_std) * jnp.asarray(NODES, jnp.float32)[:, None]
        weights = jnp.asarray(WEIGHTS / WEIGHTS.sum(), jnp.float32)
        return self.base.entropy() + (weights @ log_slope(u)).sum()


def log_slope(u: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """log(1 - tanh²(u)), accurate for large |u| too."""
    return 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u))


class SquashedMLP(AbstractPolicy):
    """A ReLU network for μ and log σ of a squashed Gaussian."""

    network: MLP
    """Its outputs are μ, followed by log σ."""
    normaliser: Normaliser

    @staticmethod
    def random(
        state_dim: int,
        action_dim: int,
        width: int,
        depth: int,
        normaliser: Normaliser,
        *,
        key: Array,
    ) -> "SquashedMLP":
        """With random weights."""
        return SquashedMLP(mlp(state_dim, 2 * action_dim, width, depth, key=key), normaliser)

    def distribution(self, state):
        outputs = self.network(jax.lax.stop_gradient(self.normaliser)(state))
        mean, log_std = jnp.split(outputs, 2)
        return SquashedGaussian(mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX))
