"""Interface of policies and of the action distributions they return."""

import abc
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common.spaces import ActionSpace, DiscreteActions, MultiDiscreteActions


class AbstractDistribution(eqx.Module):
    """A distribution over actions, for one state; use `jax.vmap` for a batch."""

    @abc.abstractmethod
    def noise(self, *shape: int, key: Array) -> Float[Array, "*shape n"]:
        """Random numbers for `sample`, one row of n per sample.

        They are drawn before a loop: a random generator inside a loop of small steps would cost
        more than the networks. Only the sizes of the distribution's parameters are used."""

    @abc.abstractmethod
    def sample(self, noise: Float[Array, " n"]) -> Array:
        """The action for one row of `noise`."""

    @abc.abstractmethod
    def mode(self) -> Array:
        """The most likely action."""

    @abc.abstractmethod
    def log_prob(self, action: Array) -> Float[Array, ""]:
        """Log-probability of a discrete action, log-density of a continuous one."""

    def log_prob_around(self, action: Array, scatter: float | Float[Array, ""]) -> Float[Array, ""]:
        """Mean log-density over actions that scatter around this one with that variance; discrete
        actions do not scatter."""
        return self.log_prob(action)

    @abc.abstractmethod
    def kl(self, other: "AbstractDistribution") -> Float[Array, ""]:
        """KL(self ‖ other); both have the same class."""

    @abc.abstractmethod
    def entropy(self) -> Float[Array, ""]: ...


class Categorical(AbstractDistribution):
    """Over discrete actions 0 … n - 1."""

    logits: Float[Array, " n"]

    def noise(self, *shape, key):
        return jax.random.gumbel(key, (*shape, self.logits.shape[-1]))

    def sample(self, noise) -> Int[Array, ""]:
        return jnp.argmax(self.logits + noise).astype(jnp.int32)

    def mode(self) -> Int[Array, ""]:
        return jnp.argmax(self.logits).astype(jnp.int32)

    def log_prob(self, action):
        return jax.nn.log_softmax(self.logits)[action]

    def kl(self, other):
        mine, others = jax.nn.log_softmax(self.logits), jax.nn.log_softmax(other.logits)
        return (jnp.exp(mine) * (mine - others)).sum()

    def entropy(self):
        mine = jax.nn.log_softmax(self.logits)
        return -(jnp.exp(mine) * mine).sum()


class MultiCategorical(AbstractDistribution):
    """Over vectors of discrete actions, independent in each entry."""

    logits: Float[Array, " n"]
    """Those of all entries, one after another."""
    counts: tuple[int, ...] = eqx.field(static=True)
    """Number of actions of each entry."""

    def noise(self, *shape, key):
        return jax.random.gumbel(key, (*shape, self.logits.shape[-1]))

    def sample(self, noise) -> Int[Array, " A"]:
        parts = zip(self.entries, split_entries(noise, self.counts), strict=True)
        return jnp.stack([entry.sample(own) for entry, own in parts])

    def mode(self) -> Int[Array, " A"]:
        return jnp.stack([entry.mode() for entry in self.entries])

    def log_prob(self, action):
        return _total([entry.log_prob(action[i]) for i, entry in enumerate(self.entries)])

    def kl(self, other):
        pairs = zip(self.entries, other.entries, strict=True)
        return _total([mine.kl(others) for mine, others in pairs])

    def entropy(self):
        return _total([entry.entropy() for entry in self.entries])

    @property
    def entries(self) -> list[Categorical]:
        """The distribution of each entry."""
        return [Categorical(logits) for logits in split_entries(self.logits, self.counts)]


def split_entries(values: Array, counts: tuple[int, ...]) -> list[Array]:
    """The numbers of each entry, from those of all entries in the last axis."""
    return jnp.split(values, list(itertools.accumulate(counts))[:-1], axis=-1)


def _total(terms: list[Float[Array, ""]]) -> Float[Array, ""]:
    return jnp.stack(terms).sum()


def discrete_distribution(
    actions: ActionSpace, logits: Float[Array, " n"]
) -> Categorical | MultiCategorical | None:
    """The distribution with these logits; None for continuous actions."""
    if isinstance(actions, DiscreteActions):
        return Categorical(logits)
    if isinstance(actions, MultiDiscreteActions):
        return MultiCategorical(logits, actions.counts)
    return None


class Gaussian(AbstractDistribution):
    """Over continuous actions, independent in each dimension."""

    mean: Float[Array, " A"]
    log_std: Float[Array, " A"]

    def noise(self, *shape, key):
        return jax.random.normal(key, (*shape, self.mean.shape[-1]))

    def sample(self, noise):
        return self.mean + jnp.exp(self.log_std) * noise

    def mode(self):
        return self.mean

    def log_prob(self, action):
        return self.log_probs(action).sum()

    def log_prob_around(self, action, scatter):
        return self.log_probs_around(action, scatter).sum()

    def sample_with_log_prob(
        self, noise: Float[Array, " A"]
    ) -> tuple[Float[Array, " A"], Float[Array, ""]]:
        """The action for one row of noise, and its log-density."""
        return self.sample(noise), self.log_probs_of_noise(noise).sum()

    def log_probs_of_noise(self, noise: Float[Array, " A"]) -> Float[Array, " A"]:
        """Log-density of each dimension of the action that `sample` makes of the noise."""
        return -0.5 * noise**2 - self.log_std - 0.5 * jnp.log(2 * jnp.pi)

    def log_probs(self, action: Float[Array, " A"]) -> Float[Array, " A"]:
        """Log-density of each dimension."""
        return self.log_probs_of_noise((action - self.mean) * jnp.exp(-self.log_std))

    def log_probs_around(
        self, action: Float[Array, " A"], scatter: float | Float[Array, ""]
    ) -> Float[Array, " A"]:
        """What `log_prob_around` is the sum of."""
        return self.log_probs(action) - 0.5 * scatter * jnp.exp(-2 * self.log_std)

    def kl(self, other):
        ratio = jnp.exp(2 * (self.log_std - other.log_std))
        shift = (self.mean - other.mean) * jnp.exp(-other.log_std)
        return (other.log_std - self.log_std + 0.5 * (ratio + shift**2 - 1)).sum()

    def entropy(self):
        return (self.log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum()


class AbstractPolicy(eqx.Module):
    """A policy π(a|s): maps one state to a distribution over actions."""

    @abc.abstractmethod
    def distribution(self, state: Float[Array, " S"]) -> AbstractDistribution: ...
