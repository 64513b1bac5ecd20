"""What a method needs before it can begin, and the sentences that say what is missing.

A method that does not declare a need for actions gets demonstrations without any: they are taken
off at the door, trajectory by trajectory, so that a set larger than memory can still be streamed.
"""

from dataclasses import dataclass
from typing import Any

from ilfo.common.spaces import ActionSpace, DiscreteActions
from ilfo.data.demonstrations import Demonstrations


@dataclass(frozen=True)
class Needs:
    actions: bool = False
    """The expert's actions."""
    discrete: bool = False
    """An environment with numbered actions."""
    environment: bool = True
    """An environment to act in."""
    states: bool = False
    """Demonstrations of the states themselves, not of a feature h(s)."""

    def restrict(self, method: str, demonstrations: Demonstrations) -> Demonstrations:
        """The demonstrations as the method may see them, or an error before any work."""
        if not self.actions:
            return demonstrations.states_only()
        if not demonstrations.has_actions:
            raise ValueError(
                f"{method} learns from the expert's actions, but these demonstrations hold none; "
                "load them with actions=True if the file has them, or choose a method that "
                "learns from states alone"
            )
        return demonstrations

    def check_actions(self, demonstrations: Demonstrations, actions: ActionSpace) -> None:
        """Every recorded action, one trajectory at a time, where the method will read them."""
        if not self.actions:
            return
        for index, trajectory in enumerate(demonstrations):
            if trajectory.actions is None:
                raise ValueError(
                    "some of the demonstrations hold actions and some do not: trajectory "
                    f"{index} has none; leave it out, or record its actions"
                )
            try:
                actions.from_environment(trajectory.actions)
            except ValueError as error:
                raise ValueError(f"trajectory {index}: {error}") from error

    def check_environment(self, method: str, environment: Any) -> None:
        if self.environment and environment is None:
            raise ValueError(
                f"{method} learns by acting, but there is no environment; pass its id, one made "
                "by gymnasium.make, or a function that makes one"
            )

    def check_problem(self, method: str, actions: ActionSpace, feature_map: Any) -> None:
        if self.discrete and not isinstance(actions, DiscreteActions):
            raise ValueError(
                f"{method} needs numbered actions, but this environment's are continuous "
                f"({actions}); wrap it in ilfo.environments.discrete.Discretise, or choose "
                "another method"
            )
        if self.states and feature_map is not None:
            raise ValueError(
                f"{method} has to see the expert's states, but with a feature_map the "
                "demonstrations hold only a feature of them; choose mobile, gail or gaifo"
            )
