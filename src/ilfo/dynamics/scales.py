"""What the KNR and the Gaussian process share: the units of a regression, and its settings.

Shapes: S states, n inputs (state and encoded action).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Normaliser, Transition
from ilfo.common.validation import require_at_least, require_positive, require_probability
from ilfo.dynamics.base import CalibratedDynamics
from ilfo.dynamics.features import AbstractFeatures, OneHot, RandomFourier


class Scales(eqx.Module):
    """Units of a regression's inputs and outputs."""

    actions: ActionSpace
    inputs: Normaliser
    outputs: Normaliser
    relative: bool
    """The regression predicts s' - s; otherwise s'."""

    @staticmethod
    def identity(state_dim: int, actions: ActionSpace, relative: bool) -> "Scales":
        """No scaling."""
        inputs = Normaliser.identity(state_dim + actions.encoded_dim)
        return Scales(actions, inputs, Normaliser.identity(state_dim), relative)

    def fitted(self, new: Transition) -> "Scales":
        """Mean 0 and standard deviation 1 over the transitions `new`."""
        every = jnp.ones(new.state.shape[0])
        x = jnp.concatenate([new.state, jax.vmap(self.actions.encode)(new.action)], -1)
        differences = Normaliser.of_targets(new.next_state - new.state, every)
        return Scales(self.actions, Normaliser.fit(x, every), differences, self.relative)

    def input(self, state: Float[Array, " S"], action: Array) -> Float[Array, " n"]:
        """The regression's input for one step."""
        return self.inputs(jnp.concatenate([state, self.actions.encode(action)]))

    def target(self, step: Transition) -> Float[Array, "*n S"]:
        """The regression's target for observed steps."""
        moved = step.next_state - step.state if self.relative else step.next_state
        return self.outputs(moved)

    def next_state(self, state: Float[Array, " S"], output: Float[Array, " S"]):
        """The predicted next state for a regression's output."""
        moved = self.outputs.inverse(output)
        return state + moved if self.relative else moved


class CalibratedRegression(CalibratedDynamics):
    """Settings that the KNR and the Gaussian process have in common."""

    features: AbstractFeatures = RandomFourier()
    """φ and its kernel: RandomFourier, Polynomial or OneHot."""
    noise: float = 0.01
    """Standard deviation of the true dynamics' noise, in the units of scaled differences."""
    delta: float = 0.1
    """Probability with which the uncertainty may be too small."""
    beta: float | None = None
    """A fixed β; None computes it from the other settings."""
    scaled: bool = True
    """Scale inputs and differences of states to standard deviation 1 over the first iteration's
    transitions; otherwise use states and actions unscaled and predict the next state."""

    def check_settings(self) -> None:
        """Raise ValueError if one of these settings is out of range."""
        require_positive(self, "noise")
        require_probability(self, "delta")
        if self.beta is not None:
            require_at_least(self, 0, "beta")
        if self.scaled and isinstance(self.features, OneHot):
            raise ValueError(
                "scaled is True, but OneHot features need unscaled one-hot states; set scaled=false"
            )

    def check_states(self, states):
        self.features.check_states(states)
