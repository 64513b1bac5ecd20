"""One environment, stepped on from where it stopped: how off-policy learners collect."""

from collections.abc import Callable

import gymnasium as gym
import jax.numpy as jnp
import numpy as np

from ilfo.common.seeding import stream_seed
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Transition
from ilfo.planners.replay import Experience
from ilfo.rollouts.stepping import observe, step

Act = Callable[[np.ndarray, int], np.ndarray]
"""The action, in [-1, 1]^A, for a state and the number of the step."""


class Stream:
    """An environment with the state that it is in. Steps go on across episodes and calls."""

    def __init__(self, environment: gym.Env, actions: ActionSpace, name: tuple[int, ...]):
        """Begins with a reset that is seeded by `name`."""
        self._environment, self._actions = environment, actions
        self._state = observe(environment, environment.reset(seed=stream_seed(*name))[0])

    def take(self, act: Act, count: int) -> Experience:
        """The next steps, with the executed actions; all arrays have the axis of steps.

        A time limit begins a new episode, but is not terminal: what follows it still counts."""
        states, following = np.empty((2, count, len(self._state)), np.float32)
        rewards, terminal = np.empty(count, np.float32), np.empty(count, bool)
        drawn: list[np.ndarray] = []
        environment = self._environment
        for number in range(count):
            drawn.append(act(self._state, number))
            executed = self._actions.to_environment(drawn[-1][None])[0]
            observation, reward, ends, stops = step(environment, executed)
            states[number], rewards[number], terminal[number] = self._state, reward, ends
            following[number] = self._state = observe(environment, observation)
            if ends or stops:
                self._state = observe(environment, environment.reset()[0])
        actions = self._actions.execute(jnp.asarray(np.stack(drawn)))
        array = jnp.asarray
        steps = Transition(array(states), actions, array(following), array(terminal))
        return Experience(steps, array(rewards))
