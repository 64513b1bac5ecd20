"""The learning problem: sizes and spaces that determine the shape of every array of a run."""

from collections.abc import Callable
from typing import TypeAlias

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ilfo.common.spaces import ActionSpace, action_space, state_dim
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.statements import EVERY
from ilfo.environments.factory import Factory
from ilfo.environments.observing import steps_between


class Observed(eqx.Module):
    """h(s) of recordings that hold some dimensions of the state."""

    dimensions: tuple[int, ...]

    def __call__(self, state: Array) -> Array:
        return state[jnp.asarray(self.dimensions)]


FeatureMap: TypeAlias = Callable[[Array], Array] | None


def feature_of(demonstrations: Demonstrations, given: FeatureMap) -> FeatureMap:
    """h of the rows of demonstrations: what they say themselves, unless another h is given."""
    if demonstrations.observed is None or not isinstance(given, Observed | None):
        return given
    return Observed(demonstrations.observed)


def in_control_steps(demonstrations: Demonstrations, factory: Factory) -> Demonstrations:
    """The same; where they say how many seconds lie between two states, in control steps, too."""
    if demonstrations.seconds is None:
        return demonstrations
    environment = factory.make()
    steps = steps_between(demonstrations.seconds, environment)
    environment.close()
    if steps is None and EVERY not in demonstrations.metadata:
        raise ValueError(
            f"demonstrated states are {demonstrations.seconds:g} s apart, but {factory.name} does "
            "not say how long a control step takes (by an attribute `dt`); say how many control "
            "steps lead from one recorded state to the next: --every 1 for each, or "
            "demonstrations.recorded_every"
        )
    if steps is None:
        return demonstrations
    if EVERY in demonstrations.metadata and demonstrations.every != steps:
        raise ValueError(
            f"demonstrated states are said to be {demonstrations.every} control steps apart "
            f"({EVERY}, or --every), but also {demonstrations.seconds:g} s (states_seconds, or a "
            f"column of times), which is {steps} control steps of {factory.name}; take back the "
            "one that is wrong"
        )
    return demonstrations.recorded_every(steps)


class Problem(eqx.Module):
    """Sizes and spaces of an environment and its demonstrations."""

    state_dim: int
    actions: ActionSpace
    horizon: int
    demonstrated_dim: int
    """Dimension of a demonstrated row: a state, or h(s) if there is a feature map."""
    feature_map: Callable[[Array], Array] | None = None
    """h, if the demonstrations hold h(s) instead of states."""
    unflattened: tuple[int, ...] | None = None
    """Shape of an observation; None if it is a vector."""
    every: int = 1
    """Control steps between two demonstrated states."""

    @property
    def frames(self) -> int:
        """Demonstrated states that a whole episode has after the first."""
        return -(-self.horizon // self.every)

    def demonstrated(self, state: Array) -> Array:
        """What a demonstration would hold of the learner's state."""
        return state if self.feature_map is None else self.feature_map(state)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (self.state_dim,) if self.unflattened is None else self.unflattened


def state_problem(
    factory: Factory,
    demonstrated_dim: int,
    feature_map: FeatureMap,
    every: int = 1,
) -> Problem:
    """The problem of imitating such demonstrations in an environment; ValueError if they do not
    fit each other."""
    dim = state_dim(factory.observation_space)
    actions = action_space(factory.action_space)
    if isinstance(feature_map, Observed) and max(feature_map.dimensions) >= dim:
        raise ValueError(
            f"demonstrations hold the dimensions {list(feature_map.dimensions)} of the state, but "
            f"observations of {factory.name} have {dim} numbers, 0 to {dim - 1}"
        )
    if feature_map is None and demonstrated_dim != dim:
        raise ValueError(
            f"demonstrated states have {demonstrated_dim} numbers, but observations of "
            f"{factory.name} have {dim}; if the demonstrations hold a part of the state, say which "
            "(--observe, or demonstrations.holding), and if they hold another feature h(s), pass "
            "that function as feature_map"
        )
    if feature_map is not None:
        shape = jax.eval_shape(feature_map, jax.ShapeDtypeStruct((dim,), jnp.float32)).shape
        if shape != (demonstrated_dim,):
            raise ValueError(
                f"feature_map gives shape {shape} for a state of {factory.name}, but the "
                f"demonstrations hold rows of {demonstrated_dim} numbers"
            )
    shape = factory.observation_space.shape
    unflattened = None if shape == (dim,) else shape
    if every > factory.horizon:
        raise ValueError(
            f"demonstrated states are {every} control steps apart, but an episode of "
            f"{factory.name} has at most {factory.horizon}"
        )
    return Problem(dim, actions, factory.horizon, demonstrated_dim, feature_map, unflattened, every)


def offline_problem(
    demonstrations: Demonstrations, actions: gym.Space | None, horizon: int | None
) -> Problem:
    """The problem without an environment: the demonstrations say what a state is."""
    if actions is None:
        raise ValueError(
            "without an environment the action space is unknown; pass the environment, or "
            "action_space, e.g. action_space=gymnasium.spaces.Discrete(2)"
        )
    dim = demonstrations.dim
    every = demonstrations.every
    longest = every * int(demonstrations.lengths.max()) if horizon is None else horizon
    return Problem(dim, action_space(actions), longest, dim, every=every)
