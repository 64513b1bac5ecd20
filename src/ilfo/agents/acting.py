"""An agent as far as acting goes: the policies it has chosen, actions, whole episodes."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from ilfo.agents.method import Method
from ilfo.agents.predictor import Predictor
from ilfo.agents.problem import Problem
from ilfo.agents.seeds import one_seed
from ilfo.agents.selection import Choice
from ilfo.common.seeding import Purpose
from ilfo.environments.factory import Factory
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.episodes import Episode, play

STAGE = 10
"""Environments that episodes to look at are played in, side by side."""


class Actor(Method):
    seeds: tuple[int, ...]
    problem: Problem
    state: Any
    """The train state; arrays have the axis of seeds. None before learning."""
    _factory: Factory | None
    _home: str | None
    """Name of the environment that learning began with."""

    def _enter(self) -> None:
        self._stage: list[gym.Env] = []
        self._generator = np.random.default_rng([self.seeds[0], Purpose.PREDICT])
        self._predictor: tuple[Any, Predictor] | None = None

    @property
    def factory(self) -> Factory:
        """Makes the environment that the agent learns in."""
        if self._factory is None:
            raise ValueError("this agent was loaded without an environment; pass it to load")
        return self._factory

    def _check_home(self) -> None:
        """That there is an environment if there was one when learning began, and only then: what
        is learned, or what chooses among it, would change on the way."""
        if self._home is not None:
            _ = self.factory
        elif self._factory is not None:
            raise ValueError(
                "this agent began to learn without an environment, so it cannot go on with one; "
                "load it without the environment, or start a new agent"
            )

    @property
    def best_seed(self) -> int:
        """Index of the seed whose chosen policy has the best value."""
        return int(np.argmin(np.asarray(self.choice().value)))

    def choice(self, rule: str | None = None) -> Choice:
        """What was chosen for each seed, by that rule or by the first of `choices`."""
        if self.state is None:
            raise ValueError("this agent has not learned anything yet; call learn first")
        rule = next(iter(self.choices)) if rule is None else rule
        if rule not in self.choices:
            raise ValueError(
                f"{self.method} has no rule of choice {rule!r}; there are: "
                f"{', '.join(self.choices)}"
            )
        return getattr(self.state, self.choices[rule])

    def policy(self, index: int | None = None, rule: str | None = None) -> AbstractPolicy:
        """The policy chosen for a seed (by index); by default the best seed's."""
        return one_seed(self.choice(rule).policy, self.best_seed if index is None else index)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """An action for one observation, or one for each of a batch; `state` passes through.

        The signature is Stable-Baselines3's.
        """
        if self._predictor is None or self._predictor[0] is not self.state:
            self._predictor = (self.state, Predictor(self.policy(), self.problem))
        return self._predictor[1](observation, self._generator, deterministic), state

    def play(
        self,
        policy: AbstractPolicy,
        *,
        episodes: int,
        seed: int,
        greedy: bool = True,
        purpose: int = Purpose.EVALUATE,
    ) -> Iterator[Episode]:
        """Whole episodes of a policy of this agent in its environment, to look at: neither the
        steps nor the rewards have a part in learning."""
        if not self._stage:
            self._stage = self.factory.make_many(STAGE)
        return play(
            self._stage,
            HostPolicy.single(policy),
            self.problem.actions,
            episodes=episodes,
            seed=seed,
            purpose=purpose,
            greedy=greedy,
        )
