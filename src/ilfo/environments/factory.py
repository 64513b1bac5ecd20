"""Making copies of any Gymnasium environment, one for each parallel stream."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium as gym

from ilfo.common.flattening import is_composite, names
from ilfo.common.importing import FILE, import_named
from ilfo.common.parsing import plain_value

Environment: TypeAlias = str | gym.Env | Callable[[], gym.Env]
"""A registered id, an environment made by `gymnasium.make`, or a function that makes one.

An id may say where it comes from: `package:Id` and `file.py:Id` import that first. Both also name a
class or a function that makes an environment: `file.py:MyEnv`. Options of the environment follow a
name after commas: `ilfo/Hopper-v0,mass=1.3,motors=0.8`.
"""


@dataclass(frozen=True)
class Factory:
    """Makes copies of one environment, with the horizon as their time limit."""

    make: Callable[..., gym.Env]
    """Makes one copy. Keyword arguments are passed to the environment, e.g.
    `render_mode="rgb_array"`."""
    name: str
    """The id, or the class name if it is not registered; with the options that were given."""
    horizon: int
    """Time limit of an episode, in steps."""
    observation_space: gym.Space
    action_space: gym.Space
    own_observations: gym.Space | None = None
    """The environment's own Dict or Tuple of observations, where copies flatten it."""
    names: tuple[str, ...] | None = None
    """Names of the dimensions of a flattened observation; None where it was always a vector."""

    def flat(self, observation: Any) -> Any:
        """An observation of the environment as its copies have it: flattened, where they do so."""
        if self.own_observations is None:
            return observation
        return gym.spaces.flatten(self.own_observations, observation)

    def make_many(self, count: int) -> list[gym.Env]:
        """Makes `count` copies."""
        return [self.make() for _ in range(count)]


def factory(environment: Environment, horizon: int | None = None) -> Factory:
    """A factory of copies of `environment`.

    `horizon` replaces the environment's own time limit, and is required if it has none.
    """
    if horizon is not None and (isinstance(horizon, bool) or horizon < 1):
        raise ValueError(f"horizon is {horizon}, but must be a positive number of steps")
    options: dict[str, Any] = {}
    if isinstance(environment, str):
        name, options = split_options(environment)
        environment = _named(name)
    make = _flattening(_with_options(_maker(environment, horizon), options))
    sample = make()
    own = time_limit(sample)
    name = sample.spec.id if sample.spec else type(sample.unwrapped).__name__
    name = with_options(name, [f"{option}={value}" for option, value in options.items()])
    limit = horizon or own
    if limit is None:
        raise ValueError(
            f"{name} has no time limit and no horizon was given; set the maximum number of steps "
            "of an episode (horizon=..., or --horizon on the command line)"
        )
    spaces = sample.observation_space, sample.action_space, own_observations(sample)
    flattened = flattened_space(sample)
    sample.close()
    return Factory(make, name, limit, *spaces, None if flattened is None else names(flattened))


def with_options(name: str, options: Sequence[str]) -> str:
    """The name of an environment with these options, each NAME=VALUE."""
    for option in options:
        if set(option) & {",", ":"}:
            raise ValueError(f"{option!r} is no option of an environment; use neither ',' nor ':'")
    named = ",".join([name, *options])
    split_options(named)
    return named


def split_options(name: str) -> tuple[str, dict[str, Any]]:
    """A name without its options, and these."""
    module, colon, entry = name.rpartition(":")
    entry, *given = entry.split(",")
    options: dict[str, Any] = {}
    for text in given:
        option, equals, value = text.partition("=")
        if not option.isidentifier() or not equals or not value:
            raise ValueError(
                f"{text!r} is no option of an environment; expected NAME=VALUE, e.g. mass=1.3"
            )
        if option in options:
            raise ValueError(f"the option {option} of the environment is given twice")
        options[option] = plain_value(value)
    return f"{module}{colon}{entry}", options


def _with_options(make: Callable[..., gym.Env], options: dict[str, Any]) -> Callable[..., gym.Env]:
    if not options:
        return make

    def made(**kwargs: Any) -> gym.Env:
        try:
            return make(**options, **kwargs)
        except (TypeError, ValueError) as error:
            listed = ", ".join(f"{option}={value}" for option, value in options.items())
            raise ValueError(f"the environment cannot be made with {listed}: {error}") from error

    return made


class Flattened(gym.wrappers.FlattenObservation):
    """Gymnasium's wrapper, put around an environment here rather than by the user."""


def _flattening(make: Callable[..., gym.Env]) -> Callable[..., gym.Env]:
    """Makes environments whose observations are vectors, where they were Dicts or Tuples."""

    def made(**kwargs: Any) -> gym.Env:
        environment = make(**kwargs)
        if not is_composite(environment.observation_space):
            return environment
        return Flattened(environment)

    return made


def own_observations(environment: gym.Env) -> gym.Space | None:
    """The Dict or Tuple of observations that a copy flattens; None if it flattens none."""
    return environment.env.observation_space if isinstance(environment, Flattened) else None


def flattened_space(environment: gym.Env) -> gym.Space | None:
    """The Dict or Tuple whose parts the dimensions of the observations are, whoever flattened it;
    None where they are something else."""
    while isinstance(environment, gym.Wrapper):
        if isinstance(environment, gym.wrappers.FlattenObservation):
            inner = environment.env.observation_space
            return inner if is_composite(inner) else None
        if isinstance(environment, gym.ObservationWrapper):
            return None
        environment = environment.env
    return None


def time_limit(environment: gym.Env) -> int | None:
    """Steps after which an episode is truncated: of the spec, or of the strictest wrapper."""
    limits = [environment.spec.max_episode_steps] if environment.spec else []
    while isinstance(environment, gym.Wrapper):
        if isinstance(environment, gym.wrappers.TimeLimit):
            limits.append(environment._max_episode_steps)
        environment = environment.env
    return min((limit for limit in limits if limit is not None), default=None)


def _named(name: str) -> str | Callable[..., gym.Env]:
    """The registered id that a name stands for, or the class or function of a module."""
    module, _, entry = name.rpartition(":")
    imported = None
    try:
        imported = import_named(module) if module else None
        if callable(getattr(imported, entry, None)) and entry not in gym.registry:
            return getattr(imported, entry)
        gym.spec(entry)
    # TypeError: a relative module, as in .package:Id
    except (gym.error.Error, ImportError, TypeError) as error:
        reason = str(error)
        if imported is not None and entry.isidentifier():  # an id has a version
            reason = f"{module} has no class or function {entry!r} and registers no such id"
        raise ValueError(f"unknown environment {name!r}: {reason}") from error
    return entry


def located(name: str) -> str:
    """The same name from any working directory: a file in it gets its whole path."""
    module, colon, entry = name.rpartition(":")
    return f"{Path(module).resolve()}{colon}{entry}" if module.endswith(FILE) else name


def module_of(environment: Environment) -> str | None:
    """The module whose code a name of the form `package:Id` runs: all of it by importing it, or a
    function of it by calling that. None if it is imported already, and the name is registered or
    that of an environment class."""
    if not isinstance(environment, str):
        return None
    module, _, entry = split_options(environment)[0].rpartition(":")
    if not module:
        return None
    imported = sys.modules.get(module)
    named = getattr(imported, entry, None)
    made_by_class = isinstance(named, type) and issubclass(named, gym.Env)
    return None if imported and (entry in gym.registry or made_by_class) else module


def _maker(environment: Environment, horizon: int | None) -> Callable[..., gym.Env]:
    if isinstance(environment, str):
        return lambda **kwargs: gym.make(
            environment, max_episode_steps=horizon, disable_env_checker=True, **kwargs
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
        return lambda **kwargs: _limited(_called(environment, kwargs), horizon)
    raise ValueError(
        f"environment is {environment!r}, but must be an id, a gymnasium.Env or a "
        "function that makes one"
    )


def _called(make: Callable[..., gym.Env], kwargs: dict[str, Any]) -> gym.Env:
    """What a class or a function makes, or an error if it takes no such arguments."""
    try:
        inspect.signature(make).bind(**kwargs)
    except TypeError as error:
        name = getattr(make, "__name__", repr(make))
        given = ", ".join(f"{key}={value!r}" for key, value in kwargs.items())
        raise ValueError(
            f"{name} cannot be called with ({given}): {error}; let it take these arguments, as "
            "environments of Gymnasium do"
        ) from error
    except ValueError:  # some builtins have no signature
        pass
    return make(**kwargs)


def _limited(environment: gym.Env, horizon: int | None) -> gym.Env:
    if not isinstance(environment, gym.Env):
        raise ValueError(
            f"the function that makes the environment returned {environment!r}, not a gymnasium.Env"
        )
    own = time_limit(environment)
    if horizon is None:
        if own is None or _stops_by_itself(environment):
            return environment
        # a spec that was written by hand says when to stop, but nothing does so
        return gym.wrappers.TimeLimit(environment, own)
    if own is not None and own < horizon:
        raise ValueError(
            f"horizon is {horizon}, but the function makes an environment that stops after {own} "
            f"steps; let it call gymnasium.make(..., max_episode_steps={horizon}), or leave out "
            "its TimeLimit"
        )
    return gym.wrappers.TimeLimit(environment, horizon)


def _stops_by_itself(environment: gym.Env) -> bool:
    while isinstance(environment, gym.Wrapper):
        if isinstance(environment, gym.wrappers.TimeLimit):
            return True
        environment = environment.env
    return False
