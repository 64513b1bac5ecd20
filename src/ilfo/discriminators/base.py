"""What MobILE asks of a discriminator: features of steps, their mean, and a cost in them."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from ilfo.common.types import DemonstratedSteps, Rollout
from ilfo.discriminators.occupancy import Occupancy


class AbstractFittedDiscriminator(eqx.Module):
    """f: high where the learner goes and the expert does not."""

    @abc.abstractmethod
    def features(
        self, state: Float[Array, " S"], next_state: Float[Array, " S"]
    ) -> Float[Array, " D"]:
        """ψ of one ordinary step of the learner."""

    @abc.abstractmethod
    def demonstrated(self, x: Float[Array, " F"], next_x: Float[Array, " F"]) -> Float[Array, " D"]:
        """ψ of one demonstrated step: of states, or of h(s) where there is a feature map."""

    @abc.abstractmethod
    def __call__(self, features: Float[Array, "*n D"]) -> Float[Array, "*n"]:
        """f, before clipping."""

    @abc.abstractmethod
    def distance(self, mean: Float[Array, " D"], other: Float[Array, " D"]) -> Float[Array, ""]:
        """How well the best f tells two mean features apart; not negative."""


class AbstractDiscriminator(eqx.Module):
    @abc.abstractmethod
    def init(
        self,
        sample: DemonstratedSteps,
        feature_map: Callable[[Array], Array] | None,
        *,
        key: Array,
    ) -> Any:
        """`sample` holds demonstrated steps."""

    @abc.abstractmethod
    def fit(self, state: Any, policy_mean: Float[Array, " D"], expert_mean: Float[Array, " D"]):
        """The f of the class that tells the two mean features apart best."""

    @abc.abstractmethod
    def cost(self, state: Any, features: Float[Array, "*n D"]) -> Float[Array, "*n"]:
        """f, clipped to its range."""

    @abc.abstractmethod
    def ending_costs(self, state: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Cost per step behind a terminal state and behind a runaway one."""

    @abc.abstractmethod
    def total_features(
        self, features: Float[Array, "N T D"], rollout: Rollout, occupancy: Occupancy
    ) -> tuple[Float[Array, " D"], Float[Array, ""]]:
        """Weighted Σ ψ over the rollout, and the sum of the weights: their ratio is E ψ."""
