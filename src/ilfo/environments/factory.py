"""Making copies of any Gymnasium environment, one for each parallel stream."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import gymnasium as gym

Environment: TypeAlias = str | gym.Env | Callable[[], gym.Env]
"""A registered id, an environment made by `gymnasium.make`, or a function that makes one."""


@dataclass(frozen=True)
class Factory:
    """Makes copies of one environment, with the horizon as their time limit."""

    make: Callable[..., gym.Env]
    """Makes one copy. Keyword arguments are passed to the environment, e.g.
    `render_mode="rgb_array"`."""
    name: str
    """The id, or the class name if it is not registered."""
    horizon: int
    """Time limit of an episode, in steps."""
    observation_space: gym.Space
    action_space: gym.Space

    def make_many(self, count: int) -> list[gym.Env]:
        """Makes `count` copies."""
        return [self.make() for _ in range(count)]


def factory(environment: Environment, horizon: int | None = None) -> Factory:
    """A factory of copies of `environment`.

    `horizon` replaces the environment's own time limit, and is required if it has none.
    """
    if horizon is not None and (isinstance(horizon, bool) or horizon < 1):
        raise ValueError(f"horizon is {horizon}, but must be a positive number of steps")
    make = _maker(environment, horizon)
    sample = make()
    own = sample.spec.max_episode_steps if sample.spec else None
    name = sample.spec.id if sample.spec else type(sample.unwrapped).__name__
    limit = horizon or own
    if limit is None:
        raise ValueError(
            f"{name} has no time limit and no horizon was given; set the maximum number of steps "
            "of an episode (horizon=..., or --horizon on the command line)"
        )
    spaces = sample.observation_space, sample.action_space
    sample.close()
    return Factory(make, name, limit, *spaces)


def module_of(environment: Environment) -> str | None:
    """The module that an id of the form `package:Id` imports, unless it is imported already."""
    package = environment.rpartition(":")[0] if isinstance(environment, str) else ""
    return package if package and package not in sys.modules else None


def _maker(environment: Environment, horizon: int | None) -> Callable[..., gym.Env]:
    if isinstance(environment, str):
        package, _, name = environment.rpartition(":")
        try:
            if package:
                importlib.import_module(package)
            gym.spec(name)
        # TypeError: a relative module, as in .package:Id
        except (gym.error.Error, ImportError, TypeError) as error:
            raise ValueError(f"unknown environment {environment!r}: {error}") from error
        return lambda **kwargs: gym.make(
            name, max_episode_steps=horizon, disable_env_checker=True, **kwargs
        )
    if isinstance(environment, gym.Env):
        spec = environment.spec
        if spec is None:
            raise ValueError(
                f"{environment} was not made by gymnasium.make, so it cannot be copied; pass a "
                "function that makes it instead, e.g. MobILE(lambda: MyEnv(), ...)"
            )
        return lambda **kwargs: gym.make(
            spec, max_episode_steps=horizon, disable_env_checker=True, **kwargs
        )
    if callable(environment):
        return lambda **kwargs: _limited(environment(**kwargs), horizon)
    raise ValueError(
        f"environment is {environment!r}, but must be an id, a gymnasium.Env or a "
        "function that makes one"
    )


def _limited(environment: gym.Env, horizon: int | None) -> gym.Env:
    if not isinstance(environment, gym.Env):
        raise ValueError(
            f"the function that makes the environment returned {environment!r}, not a gymnasium.Env"
        )
    own = environment.spec.max_episode_steps if environment.spec else None
    if horizon is None:
        if own is None or _stops_by_itself(environment):
            return environment
        # a spec that was written by hand says when to stop, but nothing does so
        return gym.wrappers.TimeLimit(environment, own)
    if own is not None and own < horizon:
        raise ValueError(
            f"horizon is {horizon}, but the function makes an environment that stops after {own} "
            f"steps; let it call gymnasium.make(..., max_episode_steps={horizon})"
        )
    return gym.wrappers.TimeLimit(environment, horizon)


def _stops_by_itself(environment: gym.Env) -> bool:
    while isinstance(environment, gym.Wrapper):
        if isinstance(environment, gym.wrappers.TimeLimit):
            return True
        environment = environment.env
    return False
