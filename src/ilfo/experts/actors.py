"""Actors: functions from an observation to an action, and the episodes they play."""

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from ilfo.common.seeding import Purpose, stream_seed
from ilfo.environments.factory import own_observations
from ilfo.environments.interface import explained
from ilfo.rollouts.episodes import Episode
from ilfo.rollouts.stepping import observe, step

Actor = Callable[[np.ndarray], Any]
"""A function from an observation to an action, both in the environment's own form."""


def play_actor(environment: gym.Env, act: Actor, *, episodes: int, seed: int) -> Iterator[Episode]:
    """Whole episodes of `act`, each with its own reset seed."""
    for number in range(episodes):
        with explained(environment):
            yield _episode(environment, act, stream_seed(seed, Purpose.RECORD, number))


def _episode(environment: gym.Env, act: Actor, seed: int) -> Episode:
    outer, space = environment, own_observations(environment)
    state = lambda observation: observe(outer, observation)
    if space is not None:  # the actor knows the environment as it is
        environment = environment.env  # type: ignore[attr-defined]
        state = lambda observation: observe(outer, gym.spaces.flatten(space, observation))
    observation, _ = environment.reset(seed=seed)
    states, actions, rewards, ends, stops = [state(observation)], [], [], False, False
    while not (ends or stops):
        actions.append(executable(environment.action_space, act(observation)))
        observation, reward, ends, stops = step(environment, actions[-1])
        states.append(state(observation))
        rewards.append(float(reward))
    return Episode(np.stack(states), np.stack(actions), np.asarray(rewards), ends)


def executable(space: gym.Space, action: Any) -> Any:
    """The action clipped to the bounds of a Box; ValueError if it does not fit the space."""
    if isinstance(space, gym.spaces.Box):
        try:
            array = np.asarray(action, space.dtype)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape == space.shape and np.isfinite(array).all():
            return np.clip(array, space.low, space.high)
    elif action is not None and space.contains(action):
        return action
    raise ValueError(
        f"the policy returned {action!r}, but the environment takes actions in {space}"
    )
