"""Gymnasium spaces as policies and models see them.

States are flat vectors. Box actions are scaled to [-1, 1], discrete actions are integers from 0,
and MultiDiscrete and MultiBinary ones are vectors of such integers.
"""

import abc
import math
from dataclasses import dataclass

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@dataclass(frozen=True)
class ActionSpace(abc.ABC):
    """Converts the actions that a policy samples for models and environments."""

    @property
    @abc.abstractmethod
    def encoded_dim(self) -> int:
        """Length of the vector that `encode` returns."""

    @abc.abstractmethod
    def zero(self) -> Array:
        """One action of the shape and dtype that policies sample, all zeros."""

    @abc.abstractmethod
    def encode(self, action: Array) -> Float[Array, " A"]:
        """The executed action as input of a network: one-hot if discrete."""

    @abc.abstractmethod
    def execute(self, action: Array) -> Array:
        """The action that the environment executes when the policy samples `action`."""

    @abc.abstractmethod
    def to_environment(self, actions: np.ndarray) -> list:
        """Sampled actions (n, ...) in the environment's units, one per environment to step."""

    @abc.abstractmethod
    def from_environment(self, actions: np.ndarray) -> np.ndarray:
        """Recorded actions (n, ...) as a policy would sample them; ValueError if they do not fit
        this space."""


@dataclass(frozen=True)
class DiscreteActions(ActionSpace):
    """`count` discrete actions; the environment counts them from `start`, policies from 0."""

    count: int
    start: int = 0

    @property
    def encoded_dim(self) -> int:
        return self.count

    def zero(self):
        return jnp.zeros((), jnp.int32)

    def encode(self, action):
        return jax.nn.one_hot(action, self.count)

    def execute(self, action):
        return action

    def to_environment(self, actions):
        return (actions + self.start).tolist()

    def from_environment(self, actions):
        numbers = np.asarray(actions).reshape(len(actions), -1)
        last = self.start + self.count - 1
        if numbers.shape[1] != 1 or not _whole_between(numbers, self.start, last):
            raise ValueError(
                f"the recorded actions have dtype {numbers.dtype} and shape {np.shape(actions)}, "
                f"but must be whole numbers from {self.start} to {last}, one per step"
            )
        return (numbers[:, 0] - self.start).astype(np.int32)


@dataclass(frozen=True)
class MultiDiscreteActions(ActionSpace):
    """Vectors of discrete actions, each entry with its own count and start."""

    counts: tuple[int, ...]
    start: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str = "int64"

    @property
    def encoded_dim(self) -> int:
        return sum(self.counts)

    def zero(self):
        return jnp.zeros(len(self.counts), jnp.int32)

    def encode(self, action):
        entries = [
            jax.nn.one_hot(action[..., index], count) for index, count in enumerate(self.counts)
        ]
        return jnp.concatenate(entries, -1)

    def execute(self, action):
        return action

    def to_environment(self, actions):
        numbers = np.asarray(actions) + np.asarray(self.start)
        return list(numbers.reshape(-1, *self.shape).astype(self.dtype))

    def from_environment(self, actions):
        numbers = np.asarray(actions).reshape(len(actions), -1)
        first = np.asarray(self.start)
        last = first + np.asarray(self.counts) - 1
        if numbers.shape[1] != len(first) or not _whole_between(numbers, first, last):
            raise ValueError(
                f"the recorded actions have dtype {numbers.dtype} and shape {np.shape(actions)}, "
                f"but must be {len(first)} whole numbers per step, from {first.tolist()} to "
                f"{last.tolist()}"
            )
        return (numbers - first).astype(np.int32)


def _whole_between(numbers: np.ndarray, first: np.ndarray | int, last: np.ndarray | int) -> bool:
    if numbers.dtype.kind not in "biuf" or not (numbers == np.rint(numbers)).all():
        return False
    return bool((numbers >= first).all() and (numbers <= last).all())


@dataclass(frozen=True)
class BoxActions(ActionSpace):
    """Continuous actions, scaled to [-1, 1] and clipped to it when executed."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def encoded_dim(self) -> int:
        return len(self.low)

    def zero(self):
        return jnp.zeros(self.encoded_dim)

    def encode(self, action):
        return action

    def execute(self, action):
        return self._on_grid(jnp.clip(action, -1.0, 1.0), jnp)

    def to_environment(self, actions):
        low, high = np.asarray(self.low), np.asarray(self.high)
        executed = self._on_grid(np.clip(np.asarray(actions, np.float64), -1.0, 1.0), np)
        scaled = np.clip(low + (executed + 1) / 2 * (high - low), low, high)
        if np.issubdtype(self.dtype, np.integer):
            scaled = np.rint(scaled)
        return list(scaled.reshape(-1, *self.shape).astype(self.dtype))

    def from_environment(self, actions):
        rows = np.asarray(actions).reshape(len(actions), -1)
        wrong = rows.dtype.kind not in "biuf" or rows.shape[1] != len(self.low)
        if wrong or not np.isfinite(rows).all():
            raise ValueError(
                f"the recorded actions have dtype {rows.dtype} and shape {np.shape(actions)}, but "
                f"must be finite numbers, {len(self.low)} per step"
            )
        low, high = np.asarray(self.low), np.asarray(self.high)
        span = np.where(high > low, high - low, 1.0)
        return np.clip((rows - low) / span * 2 - 1, -1.0, 1.0).astype(np.float32)

    def _on_grid(self, action, numpy):
        """The nearest action of an integer Box; `numpy` is `numpy` or `jax.numpy`."""
        if not np.issubdtype(self.dtype, np.integer):
            return action
        span = numpy.maximum(numpy.asarray(self.high) - numpy.asarray(self.low), 1)
        return numpy.rint((action + 1) / 2 * span) / span * 2 - 1


def action_space(space: gym.Space) -> ActionSpace:
    """The action space of a Gymnasium environment: Discrete, MultiDiscrete, MultiBinary, or a
    bounded Box."""
    if isinstance(space, gym.spaces.Discrete):
        return DiscreteActions(int(space.n), int(space.start))
    if isinstance(space, gym.spaces.MultiDiscrete):
        counts, start = (tuple(map(int, x.ravel())) for x in (space.nvec, space.start))
        return MultiDiscreteActions(counts, start, space.shape, str(space.dtype))
    if isinstance(space, gym.spaces.MultiBinary):
        size = math.prod(space.shape)
        return MultiDiscreteActions((2,) * size, (0,) * size, space.shape, str(space.dtype))
    if not isinstance(space, gym.spaces.Box):
        raise ValueError(
            f"action space is {space}, but only Box, Discrete, MultiDiscrete and MultiBinary are "
            "supported"
        )
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise ValueError(
            f"action space {space} is unbounded; give the Box finite bounds, e.g. by wrapping the "
            "environment: gymnasium.wrappers.TransformAction(env, lambda action: action, "
            "gymnasium.spaces.Box(-1, 1, env.action_space.shape))"
        )
    low, high = (tuple(map(float, bound.ravel())) for bound in (space.low, space.high))
    return BoxActions(low, high, space.shape, str(space.dtype))


def state_dim(space: gym.Space) -> int:
    """Length of a flattened observation."""
    if not isinstance(space, gym.spaces.Box):
        raise ValueError(
            f"observation space is {space}, but only Box observations are supported, and Dict and "
            "Tuple of them; wrap the environment (for example in "
            "gymnasium.wrappers.FlattenObservation)"
        )
    return math.prod(space.shape)
