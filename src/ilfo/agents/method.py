"""What a method declares: what it needs, what it carries along, and one iteration of it."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from jaxtyping import Array

from ilfo.agents.needs import Needs
from ilfo.agents.problem import Problem
from ilfo.common.types import DemonstratedSteps
from ilfo.data.sampling import Demonstrated


class LearningWarning(UserWarning):
    """Learning ended with something that the user should know."""


class Method(abc.ABC):
    method: ClassVar[str]

    needs: ClassVar[Needs] = Needs()
    """What the method cannot do without; actions that it does not ask for it never sees."""

    default_settings: ClassVar[type]
    """The method's hyper-parameters; without arguments, those for an unknown environment. One
    that takes no environment steps says by their `iterations` how long it goes on."""

    choices: ClassVar[Mapping[str, str]] = {"real-mmd": "chosen"}
    """How policies to return are chosen, and where the train state keeps them (a `Choice`); the
    first is the one that is used."""

    metrics: ClassVar[Sequence[str]]
    """Entries of the log that a run directory keeps."""

    @staticmethod
    @abc.abstractmethod
    def init(
        settings: Any, problem: Problem, demonstrated: DemonstratedSteps, *, key: Array
    ) -> Any:
        """A fresh train state, with fields `policy`, `iteration` and those of `choices`."""

    @staticmethod
    @abc.abstractmethod
    def improve(settings: Any, problem: Problem, state: Any, rollout: Any, expert: Any) -> Any:
        """One iteration behind what `act` brought: the next train state and a log. Entries
        `finite_<phase>` are flags."""

    @abc.abstractmethod
    def digest(self, sample: Demonstrated) -> Any:
        """What `improve` is told of the demonstrations; arrays have the axis of seeds."""

    def remarks(self) -> list[str]:
        """What the user should know of the state of learning; said when it ends."""
        return []
