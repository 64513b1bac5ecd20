"""Actors: functions from an observation to an action, and the episodes they play."""

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from ilfo.common.seeding import Purpose, stream_seed
from ilfo.rollouts.episodes import Episode
from ilfo.rollouts.stepping import observe, step

Actor = Callable[[np.ndarray], Any]
"""A function from an observation to an action, both in the environment's own form."""


def play_actor(environment: gym.Env, act: Actor, *, episodes: int, seed: int) -> Iterator[Episode]:
    """Whole episodes of `act`, each with its own reset seed."""
    for number in range(episodes):
        observation, _ = environment.reset(seed=stream_seed(seed, Purpose.RECORD, number))
        states, actions, rewards = [observe(environment, observation)], [], []
        ends = stops = False
        while not (ends or stops):
            actions.append(executable(environment.action_space, act(observation)))
            observation, reward, ends, stops = step(environment, actions[-1])
            states.append(observe(environment, observation))
            rewards.append(float(reward))
        yield Episode(np.stack(states), np.stack(actions), np.asarray(rewards), ends)


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
