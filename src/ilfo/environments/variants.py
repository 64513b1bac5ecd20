"""What Gymnasium calls to make the MuJoCo tasks: `gymnasium.make("ilfo/Hopper-v0", mass=1.3)`.

Options are those of the body (`ilfo.environments.bodies`), and `bins`: discrete levels per joint.
"""

import inspect
from typing import Any

import gymnasium as gym
from gymnasium.envs.mujoco.mujoco_env import MujocoEnv

from ilfo.environments.discretise import Discretise, Levels
from ilfo.environments.locomotion import Hopper, Reacher, Swimmer, Walker2d

RENDERING = frozenset(inspect.signature(MujocoEnv.__init__).parameters)


def make_hopper(bins: int | None = None, **options: Any) -> gym.Env:
    """The paper's Hopper; its actions are a Box unless `bins` is given."""
    return _leveled(_made(Hopper, options), bins)


def make_walker2d(bins: int | None = None, **options: Any) -> gym.Env:
    """The paper's Walker2d; its actions are a Box unless `bins` is given."""
    return _leveled(_made(Walker2d, options), bins)


def make_swimmer(bins: int | None = None, **options: Any) -> gym.Env:
    """The paper's Swimmer; its actions are a Box unless `bins` is given."""
    return _leveled(_made(Swimmer, options), bins)


def make_reacher(bins: int = 5, **options: Any) -> gym.Env:
    """Gymnasium's Reacher-v5 with `bins` discrete torques per joint, all pairs numbered."""
    return Discretise(_made(Reacher, options), bins)


def _leveled(environment: gym.Env, bins: int | None) -> gym.Env:
    return environment if bins is None else Levels(environment, bins)


def _made(kind: type[gym.Env], options: dict[str, Any]) -> gym.Env:
    own = [name for name in inspect.signature(kind).parameters if name != "rendering"]
    unknown = [name for name in options if name not in own and name not in RENDERING]
    if unknown:
        raise ValueError(
            f"{kind.__name__} has no option {', '.join(unknown)}; its options are: "
            f"{', '.join([*own, 'bins'])}"
        )
    return kind(**options)
