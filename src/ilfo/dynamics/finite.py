"""A finite class of dynamics and its version space (paper, example 'General class G').

    ĝ_t = the member with the least squared error so far,  P̂_t(·|s, a) = N(ĝ_t(s, a), noise² I)
    G_t = {g : Σ ‖g − ĝ_t‖² over the data ≤ z_t}
    σ_t(s, a) = max over g₁, g₂ in G_t of ‖g₁(s, a) − g₂(s, a)‖ / noise

    corrected   z_t = 8 noise² ln(π² t² |G| / (6δ))
    paper       z_t = 2 noise² G² ln(2 t² |G| / δ),   G the largest norm of a prediction

Calibrated with the corrected radius if the true dynamics are a member plus Gaussian noise. The
paper's radius has the units of a state to the fourth power and is too small if G is small;
`ilfo theory calibration` measures by how much. t is the number of fits. Sums over the data are kept
for every pair of members, so the cost of a fit does not grow with the data. Shapes: M members,
S states.
"""

import math
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common.spaces import ActionSpace
from ilfo.common.validation import require_at_least, require_positive, require_probability
from ilfo.dynamics.base import Calibrated, CalibratedDynamics

Member = Callable[[Array, Array, Array], Array]
"""g(parameters, state, encoded action): predicts the next state."""


class Finite(Calibrated):
    """The fitted model."""

    function: Member
    parameters: Float[Array, "M p"]
    actions: ActionSpace
    best: Int[Array, ""]
    possible: Bool[Array, " M"]
    """Which members are in the version space."""
    noise: Float[Array, ""]

    def predictions(self, state: Float[Array, " S"], action: Array) -> Float[Array, "M S"]:
        encoded = self.actions.encode(action)
        return jax.vmap(lambda p: self.function(p, state, encoded))(self.parameters)

    def mean(self, state, action):
        return self.function(self.parameters[self.best], state, self.actions.encode(action))

    def sample(self, state, action, *, key):
        return self.mean(state, action) + self.noise * jax.random.normal(key, state.shape)

    def uncertainty(self, state, action):
        apart = jnp.sqrt(_squared_distances(self.predictions(state, action)))
        both = self.possible[:, None] & self.possible
        return jnp.where(both, apart, 0.0).max() / self.noise


class FiniteState(eqx.Module):
    model: Finite
    errors: Float[Array, " M"]
    """Squared errors of each member, summed over the data."""
    apart: Float[Array, "M M"]
    """Squared distances of members' predictions, summed over the data."""
    fits: Int[Array, ""]


class FiniteDynamics(CalibratedDynamics):
    """The class of functions, and hyper-parameters."""

    function: Member
    """g(parameters, state, encoded action): predicts the next state."""
    parameters: tuple[tuple[float, ...], ...] | jax.Array
    """One row of parameters for each member of the class."""
    noise: float = 0.1
    """Standard deviation of the true dynamics' noise."""
    delta: float = 0.1
    """Probability with which the uncertainty may be too small."""
    radius: Literal["corrected", "paper"] = "corrected"
    """Formula of z, the radius of the version space: corrected or paper."""
    largest: float = 1.0
    """G: bound on the norm of predictions, used by the paper's radius only."""

    def __post_init__(self):
        require_positive(self, "noise")
        require_probability(self, "delta")
        require_at_least(self, 0, "largest")
        if len(self.parameters) == 0:
            raise ValueError(
                "parameters has no rows, but a finite class needs at least one member; give one "
                "row per member"
            )
        if self.radius not in ("corrected", "paper"):
            raise ValueError(f"radius is {self.radius!r}, but must be 'corrected' or 'paper'")

    def init(self, state_dim, actions, *, key):
        parameters = jnp.asarray(self.parameters, jnp.float32)
        count = parameters.shape[0]
        model = Finite(
            self.function,
            parameters,
            actions,
            jnp.zeros((), jnp.int32),
            jnp.ones(count, bool),
            jnp.asarray(self.noise, jnp.float32),
        )
        zeros = jnp.zeros(count), jnp.zeros((count, count))
        return FiniteState(model, *zeros, jnp.zeros((), jnp.int32))

    def fit(self, state, new, buffer, *, key):
        predicted = jax.vmap(state.model.predictions)(new.state, new.action)
        errors = state.errors + ((predicted - new.next_state[:, None]) ** 2).sum((0, 2))
        apart = state.apart + jax.vmap(_squared_distances)(predicted).sum(0)
        fits = state.fits + 1
        best = jnp.argmin(errors).astype(jnp.int32)
        possible = apart[best] <= self._radius(fits, errors.shape[0])
        old = state.model
        model = Finite(old.function, old.parameters, old.actions, best, possible, old.noise)
        loss = ((predicted[:, best] - new.next_state) ** 2).mean()
        log = {"model_loss": loss, "version_space": possible.sum().astype(jnp.float32)}
        return FiniteState(model, errors, apart, fits), log

    def _radius(self, fits: Int[Array, ""], members: int) -> Float[Array, ""]:
        often = 2 * jnp.log(fits.astype(jnp.float32))
        if self.radius == "paper":
            likely = math.log(2 * members / self.delta) + often
            return 2 * self.noise**2 * self.largest**2 * likely
        likely = math.log(math.pi**2 * members / (6 * self.delta)) + often
        return 8 * self.noise**2 * likely


def _squared_distances(rows: Float[Array, "M S"]) -> Float[Array, "M M"]:
    return ((rows[:, None] - rows[None]) ** 2).sum(-1)
