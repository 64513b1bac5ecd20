"""Interface of MobILE's discriminators: features of steps, and a cost that is a function of them.

Shapes: S states, F what demonstrations contain (states, or a feature of them), D features.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from ilfo.common.types import DemonstratedSteps, Rollout
from ilfo.discriminators.floor import Floor
from ilfo.discriminators.occupancy import Occupancy


class AbstractFittedDiscriminator(eqx.Module):
    """A fitted cost f: high where the learner goes and the expert does not."""

    @abc.abstractmethod
    def features(
        self, state: Float[Array, " S"], next_state: Float[Array, " S"]
    ) -> Float[Array, " D"]:
        """ψ of one step of the learner."""

    @abc.abstractmethod
    def demonstrated(self, x: Float[Array, " F"], next_x: Float[Array, " F"]) -> Float[Array, " D"]:
        """ψ of one demonstrated step: of states, or of h(s) if there is a feature map h."""

    @abc.abstractmethod
    def __call__(self, features: Float[Array, "*n D"]) -> Float[Array, "*n"]:
        """f, before clipping."""

    @abc.abstractmethod
    def distance(self, mean: Float[Array, " D"], other: Float[Array, " D"]) -> Float[Array, ""]:
        """Distance of two mean features, as the best f of the class measures it; not negative."""


class AbstractDiscriminator(eqx.Module):
    """Hyper-parameters of a discriminator, and how it is fitted."""

    @abc.abstractmethod
    def init(
        self,
        sample: DemonstratedSteps,
        feature_map: Callable[[Array], Array] | None,
        *,
        key: Array,
    ) -> Any:
        """The state before the first fit; `sample` holds demonstrated steps."""

    def at_rate(self, every: int) -> "AbstractDiscriminator":
        """For demonstrated states that are `every` control steps apart; must be overridden where
        features see more of a step than the state that it reaches."""
        return self

    @abc.abstractmethod
    def floor(self, state: Any, sample: DemonstratedSteps, horizon: int) -> Floor:
        """The expert's distance from itself."""

    @abc.abstractmethod
    def fit(self, state: Any, policy_mean: Float[Array, " D"], expert_mean: Float[Array, " D"]):
        """The state whose f separates the two mean features best."""

    @abc.abstractmethod
    def cost(self, state: Any, features: Float[Array, "*n D"]) -> Float[Array, "*n"]:
        """f, clipped to the range of costs."""

    @abc.abstractmethod
    def ending_costs(self, state: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Cost per step after termination, and after an imagined trajectory ran away."""

    @abc.abstractmethod
    def total_features(
        self, features: Float[Array, "N T D"], rollout: Rollout, occupancy: Occupancy
    ) -> tuple[Float[Array, " D"], Float[Array, ""]]:
        """Weighted Σ ψ over the rollout, and the sum of the weights; their ratio is E ψ."""
