"""Worlds so small that the right action is known in every state."""

import gymnasium as gym
import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.experts.actors import play_actor

STEP = 0.1


class Echo(gym.Env):
    """The state is the last action; nothing ends."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.full(1, action, np.float32), 0.0, False, False, {}


def always_one(steps: int) -> Demonstrations:
    """An expert of Echo that always takes 1."""
    states = np.ones((3, steps + 1, 1), np.float32)
    states[:, 0] = 0
    return Demonstrations.from_arrays(states, terminal=False, actions=np.ones((3, steps), int))


class Line(gym.Env):
    """Action 0 goes up a line and action 1 goes down; nothing ends."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = float(self.np_random.uniform(-1, 1))
        return self._seen(), {}

    def step(self, action):
        self.place += STEP if action == 0 else -STEP
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        return np.array([self.place], np.float32)


def towards_the_middle(place):
    """The right action of Line's expert."""
    return (np.asarray(place) > 0).astype(int)


def middle_seekers(steps: int, count: int = 20) -> Demonstrations:
    """States of an expert of Line that goes to 0 and stays about there."""
    places = [np.linspace(-1, 1, count)]
    for _ in range(steps):
        places.append(places[-1] + STEP * (1 - 2 * towards_the_middle(places[-1])))
    states = np.stack(places, axis=1)[..., None].astype(np.float32)
    return Demonstrations.from_arrays(states, terminal=False)


class Goal(gym.Env):
    """Two numbers move towards two goals, or away from them: a Dict of observations, and a vector
    of discrete actions of which the first stays, goes up or goes down, the second goes up or down.
    """

    observation_space = gym.spaces.Dict(
        {
            "observation": gym.spaces.Box(-9, 9, (2,), np.float32),
            "achieved_goal": gym.spaces.Box(-9, 9, (2,), np.float32),
            "desired_goal": gym.spaces.Box(-9, 9, (2,), np.float32),
        }
    )
    action_space: gym.Space = gym.spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.goal = self.np_random.uniform(-1, 1, (2, 2)).astype(np.float32)
        self.moved = np.zeros(2, np.float32)
        return self._seen(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.moved = STEP * np.array([[0, 1, -1][action[0]], [1, -1][action[1]]], np.float32)
        self.place = self.place + self.moved
        return self._seen(), -float(np.abs(self.place - self.goal).sum()), False, False, {}

    def _seen(self):
        return {"observation": self.moved, "achieved_goal": self.place, "desired_goal": self.goal}


class Switches(Goal):
    """The same with two switches as actions: the first stays or goes up."""

    action_space = gym.spaces.MultiBinary(2)


def to_the_goal(observation):
    """The right action of Goal's expert, from its own observation."""
    left = observation["desired_goal"] - observation["achieved_goal"]
    first = 0 if abs(left[0]) < STEP / 2 else 1 if left[0] > 0 else 2
    return np.array([first, int(left[1] < 0)])


def goal_seekers(environment=Goal, steps: int = 20, count: int = 4) -> Demonstrations:
    """Episodes of Goal's expert, flattened, with actions."""
    env_factory = factory(environment, steps)
    limit = [1, 1] if environment is Switches else [2, 1]
    act = lambda observation: np.minimum(to_the_goal(observation), limit).astype(
        env_factory.action_space.dtype
    )
    played = list(play_actor(env_factory.make(), act, episodes=count, seed=0))
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=False,
        actions=[episode.actions for episode in played],
        metadata={"names": list(env_factory.names)},
    )


class Slide(gym.Env):
    """A push moves along a line; beyond 1 the episode ends."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,))
    action_space = gym.spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = float(self.np_random.uniform(-0.9, 0.9))
        return self._seen(), {}

    def step(self, action):
        self.place += STEP * float(action[0])
        return self._seen(), 0.0, abs(self.place) > 1, False, {}

    def _seen(self):
        return np.array([self.place], np.float32)


def slides_to_the_middle(steps: int, count: int = 20) -> Demonstrations:
    """States of an expert of Slide that goes to 0 and stays there."""
    places = [np.linspace(-0.9, 0.9, count)]
    for _ in range(steps):
        places.append(places[-1] - np.clip(places[-1], -STEP, STEP))
    states = np.stack(places, axis=1)[..., None].astype(np.float32)
    return Demonstrations.from_arrays(states, terminal=False)
