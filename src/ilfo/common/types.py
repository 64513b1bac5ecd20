"""Records that components exchange, with the shapes of their arrays.

Axes: N parallel streams, T steps, S state, A action (absent for discrete actions), D features.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common.spaces import ActionSpace

Log = dict[str, Array]


class Transition(NamedTuple):
    """Environment steps, with any leading axes; what a dynamics model is fitted to."""

    state: Float[Array, "*n S"]
    action: Any
    """As executed: an integer, a vector of integers, or a vector in [-1, 1]^A."""
    next_state: Float[Array, "*n S"]
    terminal: Bool[Array, "*n"]
    """The step ended the episode; a time limit (truncation) does not count."""

    @staticmethod
    def zeros(state_dim: int, actions: ActionSpace) -> "Transition":
        """One transition of the right shapes, all zeros."""
        state = jnp.zeros(state_dim)
        return Transition(state, actions.zero(), state, jnp.zeros((), bool))


class Rollout(NamedTuple):
    """Steps of several parallel streams in order of time, from the environment or from a model."""

    state: Float[Array, "N T S"]
    action: Any
    """As the policy sampled it; `ActionSpace.execute` gives the action that was executed."""
    next_state: Float[Array, "N T S"]
    terminal: Bool[Array, "N T"]
    """The step ended the episode."""
    runaway: Bool[Array, "N T"]
    """The step left the region in which the learned model is trusted; never in a real
    environment."""
    truncated: Bool[Array, "N T"]
    """The record stops after this step although the episode has not ended."""
    valid: Bool[Array, "N T"]
    """False after the end of an imagined trajectory."""
    elapsed: Int[Array, "N T"]
    """Steps of the episode before this one."""

    @property
    def ended(self) -> Bool[Array, "N T"]:
        """The step was the last of its trajectory, other than by truncation."""
        return self.terminal | self.runaway


def as_transitions(actions: ActionSpace, rollout: Rollout) -> Transition:
    """The steps as rows of one batch, with the executed actions."""
    flat = lambda x: x.reshape(-1, *x.shape[2:])
    return Transition(
        flat(rollout.state),
        actions.execute(flat(rollout.action)),
        flat(rollout.next_state),
        flat(rollout.terminal),
    )


class DemonstratedSteps(NamedTuple):
    """A uniform sample of demonstrated steps, in random order."""

    pairs: Float[Array, "n 2 F"]
    """What was observed before and after the step: states, or features h(s)."""
    actions: Any
    """As a policy would sample them; None for a method that may not see them."""
    terminal: Bool[Array, " n"]
    """The step ended its episode."""
    elapsed: Int[Array, " n"]
    """Steps of the episode before this one."""
    trajectory: Int[Array, " n"]
    """Index of the trajectory that the step is from."""
    least: Float[Array, "2 F"] | None = None
    """Smallest scales of states and of changes of state that mean anything in the environment;
    None if nothing is known of it."""

    @property
    def before(self) -> Float[Array, "n F"]:
        return self.pairs[:, 0]

    @property
    def after(self) -> Float[Array, "n F"]:
        return self.pairs[:, 1]

    @property
    def weight(self) -> Float[Array, " n"]:
        """1 for every step."""
        return jnp.ones(self.pairs.shape[0])

    def scales(self, of: Literal["before", "after", "change"] = "after") -> "Normaliser":
        """Mean and scale of what was observed before or after the steps, or of the change."""
        rows = {"before": self.before, "after": self.after, "change": self.after - self.before}
        least = None if self.least is None else self.least[int(of == "change")]
        return Normaliser.fit(rows[of], self.weight, least=least)

    @staticmethod
    def from_pairs(
        pairs: Float[Array, "n 2 F"], trajectory: Int[Array, " n"] | None = None
    ) -> "DemonstratedSteps":
        """Steps of unfinished trajectories without actions; by default of a single one."""
        number = jnp.arange(pairs.shape[0], dtype=jnp.int32)
        trajectory = jnp.zeros_like(number) if trajectory is None else trajectory
        never = jnp.zeros(pairs.shape[0], bool)
        return DemonstratedSteps(pairs, None, never, number, trajectory)


class Expert(eqx.Module):
    """The demonstrations as one compiled iteration sees them."""

    mean_features: Float[Array, " D"]
    """E ψ under the demonstrations; empty for a method without a discriminator."""
    steps: DemonstratedSteps
    shows_states: bool = eqx.field(static=True, default=True)
    """False where the demonstrations hold a feature h(s) instead of the state."""
    from_resets: bool = eqx.field(static=True, default=True)
    """False where the demonstrations are clips, which begin anywhere."""
    floor: Any = None
    """The expert's distance from itself (`ilfo.discriminators.Floor`); None for a method without a
    discriminator."""


NEGLIGIBLE = 1e-6
"""A standard deviation below this share of the largest one counts as zero."""
ROUNDING = 1e-5
"""So does one below this share of the numbers themselves, which is what rounding makes of it."""


class Normaliser(eqx.Module):
    """Subtracts a mean and divides by a scale."""

    shift: Float[Array, " S"]
    scale: Float[Array, " S"]

    def __call__(self, x: Float[Array, "*n S"]) -> Float[Array, "*n S"]:
        return (x - self.shift) / self.scale

    def inverse(self, z: Float[Array, "*n S"]) -> Float[Array, "*n S"]:
        return z * self.scale + self.shift

    @staticmethod
    def fit(
        x: Float[Array, "n S"],
        weight: Float[Array, " n"],
        floor: float = 1e-3,
        least: Float[Array, " S"] | None = None,
    ) -> "Normaliser":
        """Mean and standard deviation of the weighted rows, for what a network or a distance sees.

        The standard deviation of a dimension is at least `floor` times its root mean square.
        Otherwise a nearly constant dimension would scale rounding noise up to features. A constant
        dimension says nothing of its scale, so it gets that of a typical other one: with a tiny
        scale, the first row that differs in it would be beyond all others. `least` is a bound for
        each dimension, where one is known.
        """
        mean, std, size = _moments(x, weight)
        largest = std.max()
        constant = std <= jnp.maximum(NEGLIGIBLE * largest, ROUNDING * size)
        typical = jnp.nan_to_num(jnp.nanmedian(jnp.where(constant, jnp.nan, std)))
        scale = jnp.maximum(std, floor * size)
        scale = jnp.where(constant, jnp.maximum(scale, typical), scale)
        scale = jnp.where(largest > 0, scale, 1.0)
        return Normaliser(mean, scale if least is None else jnp.maximum(scale, least))

    @staticmethod
    def of_targets(x: Float[Array, "n S"], weight: Float[Array, " n"]) -> "Normaliser":
        """Mean and standard deviation of the weighted rows, for what a network predicts. What is
        constant is predicted as constant: its scale is next to nothing."""
        mean, std, size = _moments(x, weight)
        largest = std.max()
        least = NEGLIGIBLE * jnp.maximum(largest, size)
        return Normaliser(mean, jnp.where(largest > 0, jnp.maximum(std, least), 1.0))

    @staticmethod
    def identity(dim: int) -> "Normaliser":
        return Normaliser(jnp.zeros(dim), jnp.ones(dim))


def _moments(x: Float[Array, "n S"], weight: Float[Array, " n"]) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and root mean square of each dimension of the weighted rows."""
    total = weight.sum()
    total = jnp.where(total > 0, total, 1.0)
    mean = (weight[:, None] * x).sum(0) / total
    std = jnp.sqrt((weight[:, None] * (x - mean) ** 2).sum(0) / total)
    return mean, std, jnp.sqrt((weight[:, None] * x**2).sum(0) / total)
