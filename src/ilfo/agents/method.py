"""What a method is: a record that one `Agent` runs.

An iteration has two parts. `interact` runs on the host and brings experience; `improve` is one
compiled function from the train state and that experience to the next train state.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ilfo.agents.problem import Observed
from ilfo.common.spaces import ActionSpace, BoxActions, DiscreteActions, MultiDiscreteActions
from ilfo.data.demonstrations import Demonstrations, Trajectory


class LearningWarning(UserWarning):
    """Training finished, but the user should know something about the result."""


@dataclass(frozen=True)
class Needs:
    """What a method requires of demonstrations and environment.

    A method that does not need actions gets demonstrations without any: they are removed from each
    trajectory as it is read, so a set larger than memory can still be streamed.
    """

    actions: bool = False
    """The expert's actions."""
    discrete: bool = False
    """An environment with discrete actions."""
    continuous: bool = False
    """An environment with Box actions."""
    environment: bool = True
    """An environment to interact with."""
    states: bool = False
    """Demonstrations of the states themselves, not of a feature h(s)."""
    steps: bool = False
    """Demonstrated states that are one control step apart. Others are not refused: the result
    comes with a remark."""

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

    def checked(self, demonstrations: Demonstrations, actions: ActionSpace) -> Iterator[Trajectory]:
        """The trajectories, each one's recorded actions checked where the method reads them."""
        for index, trajectory in enumerate(demonstrations):
            if self.actions:
                _check_actions(index, trajectory, actions)
            yield trajectory

    def check_environment(self, method: str, environment: Any) -> None:
        if self.environment and environment is None:
            raise ValueError(
                f"{method} learns by interacting with an environment, but there is none; pass its "
                "id, an environment made by gymnasium.make, or a function that makes one"
            )

    def check_problem(self, method: str, actions: ActionSpace, feature_map: Any) -> None:
        if self.discrete and isinstance(actions, MultiDiscreteActions):
            raise ValueError(
                f"{method} needs single discrete actions, but this environment's are vectors of "
                f"{len(actions.counts)} of them ({actions}); number their combinations by an "
                "ActionWrapper with a Discrete action space, or choose another method"
            )
        if self.discrete and not isinstance(actions, DiscreteActions):
            raise ValueError(
                f"{method} needs discrete actions, but this environment's are continuous "
                f"({actions}); wrap it in ilfo.environments.Discretise, or choose another method"
            )
        if self.continuous and not isinstance(actions, BoxActions):
            raise ValueError(
                f"{method} needs continuous actions (a Box), but this environment's are {actions}; "
                "choose another method, such as mobile or gaifo"
            )
        if self.states and isinstance(feature_map, Observed):
            raise ValueError(
                f"{method} has to see the expert's states, but the demonstrations hold only the "
                f"dimensions {list(feature_map.dimensions)} of them; choose mobile, gail, gaifo or "
                "dacfo. If they are positions, `ilfo demos velocities` adds velocities"
            )
        if self.states and feature_map is not None:
            raise ValueError(
                f"{method} has to see the expert's states, but with a feature_map the "
                "demonstrations hold only a feature of them; choose mobile, gail, gaifo or dacfo"
            )


def _check_actions(index: int, trajectory: Trajectory, actions: ActionSpace) -> None:
    if trajectory.actions is None:
        raise ValueError(
            f"some of the demonstrations hold actions and some do not: trajectory {index} has "
            "none; leave it out, or record its actions"
        )
    if not len(trajectory.actions):
        return  # a clip of one state
    try:
        actions.from_environment(trajectory.actions)
    except ValueError as error:
        raise ValueError(f"trajectory {index}: {error}") from error


@dataclass(frozen=True)
class Selection:
    """A rule by which the policy to return is selected."""

    rule: str
    """Its name in summaries and tables."""
    field: str
    """Field of the train state that keeps the selected policy (a `Choice`)."""
    measure: str
    """What it minimises: summaries have the value as `chosen_<measure>`."""
    words: str
    """What that is, for people."""


REAL_MMD = Selection("real-mmd", "chosen", "mmd", "their distance to the recordings")
"""The policy whose real states came nearest to the demonstrated ones."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method: what it needs, what it logs, and the two functions that are its algorithm."""

    name: str
    """What `ilfo train NAME` calls it."""
    settings: type
    """Class of its hyper-parameters; without arguments, those for an unknown environment. A method
    that takes no environment steps has a property `iterations` that says how long it trains."""
    init: Callable[..., Any]
    """`init(settings, problem, steps, *, key)`: a fresh train state for one seed. `steps` is a
    sample of the demonstrated steps. The state has fields `policy`, `iteration` and those that
    `selections` name."""
    improve: Callable[..., Any]
    """`improve(settings, problem, state, experience, expert)`: the next train state and a log, for
    one seed. It is compiled. Log entries `finite_<phase>` are flags that stop a diverged run."""
    metrics: Sequence[str]
    """Log entries that a run directory keeps."""
    shown: Mapping[str, str]
    """Log entries that the progress line shows, and their labels."""
    budgets: int = 1
    """Times a task's budget of environment steps that it gets unless told otherwise."""
    parts: tuple[type, ...] = ()
    """Classes of components that only this method's settings have."""
    needs: Needs = Needs()
    """Requirements on demonstrations and environment."""
    selections: tuple[Selection, ...] = (REAL_MMD,)
    """How policies to return are selected; the first rule is the one that is used."""
    discriminator: str | None = "chooser"
    """Field of settings and train state with the discriminator whose mean features of the expert
    `improve` gets; None where there is no such field."""
    interact: Callable[[Any], Any] | None = None
    """`interact(agent)`: the experience of one iteration, arrays with the axis of seeds; by default
    a rollout of each seed's policy."""
    explores: Callable[[Any], int] = lambda agent: 0
    """`explores(agent)`: iterations, from the first one on, in which the untrained policy acts on
    purpose, to learn what actions do."""
    check: Callable[[Any], None] = lambda agent: None
    """`check(agent)`: an error where the settings do not fit the environment or demonstrations."""
    remarks: Callable[[Any], list[str]] = lambda agent: []
    """`remarks(agent)`: what the user should know when training ends."""
