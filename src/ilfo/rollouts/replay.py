"""Recorded states put back into the simulator they came from, so that they can be rendered.

Observations need not hold the simulator's whole state. Where the position of the root is missing,
it is integrated from the recorded velocities; only the picture depends on it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np


@dataclass(frozen=True)
class Replayer:
    """How recorded states of one class of environment get into its simulator."""

    recover: Callable[[Any, np.ndarray], np.ndarray]
    """(simulator, recorded states (T+1, S)) -> the simulator's own states (T+1, D)."""
    put: Callable[[Any, np.ndarray], None]
    """(simulator, one of its own states (D,)): the next `render` shows this state."""


def replayer(environment: gym.Env) -> Replayer | None:
    """How to replay recorded states in this environment; None where that is not known.

    Looked up by the exact class, since a subclass may observe something else. An environment whose
    observations are changed by a wrapper has no replayer.
    """
    layer = environment
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, gym.ObservationWrapper):
            return None
        layer = layer.env
    if environment.observation_space != layer.observation_space:
        return None
    return REPLAYERS.get(f"{type(layer).__module__}:{type(layer).__qualname__}")


def replay(environment: gym.Env, states: np.ndarray) -> Callable[[int], None]:
    """Returns a function that puts the t-th of the recorded states into the simulator."""
    way = replayer(environment)
    if way is None:
        raise ValueError(f"{environment} has no replayer; see ilfo.rollouts.replay")
    simulator = environment.unwrapped
    own = way.recover(simulator, states.astype(np.float64))
    return lambda step: way.put(simulator, own[step])


def _runner(simulator: Any, states: np.ndarray) -> np.ndarray:
    """Hopper and Walker2d of `ilfo.environments`, which observe their last step along x."""
    positions = simulator.model.nq
    along = np.cumsum(states[:, :1], axis=0)
    velocities = states[:, positions:] / simulator.dt
    return np.concatenate([along, states[:, 1:positions], velocities], axis=1)


def _joints(simulator: Any, states: np.ndarray, *, hidden: int) -> np.ndarray:
    """Gymnasium's joint positions without the first `hidden`, then joint velocities, in some
    environments clipped. What follows these, such as contact forces, is not needed."""
    if not getattr(simulator, "_exclude_current_positions_from_observation", True):
        hidden = 0
    seen = simulator.model.nq - hidden
    velocities = states[:, seen : seen + simulator.model.nv]
    speeds = velocities[:, :hidden]
    moved = simulator.dt * (speeds[1:] + speeds[:-1]) / 2
    root = np.cumsum(np.concatenate([np.zeros((1, hidden)), moved]), axis=0)
    return np.concatenate([root, states[:, :seen], velocities], axis=1)


def _reacher(simulator: Any, states: np.ndarray) -> np.ndarray:
    angles = np.arctan2(states[:, 2:4], states[:, 0:2])
    target, velocities = states[:, 4:6], states[:, 6:8]
    return np.concatenate([angles, target, velocities, np.zeros_like(target)], axis=1)


def _as_recorded(simulator: Any, states: np.ndarray) -> np.ndarray:
    return states


def _pendulum(simulator: Any, states: np.ndarray) -> np.ndarray:
    return np.stack([np.arctan2(states[:, 1], states[:, 0]), states[:, 2]], axis=1)


def _acrobot(simulator: Any, states: np.ndarray) -> np.ndarray:
    angles = np.arctan2(states[:, 1:4:2], states[:, 0:4:2])
    return np.concatenate([angles, states[:, 4:6]], axis=1)


def _put_joints(simulator: Any, state: np.ndarray) -> None:
    simulator.set_state(state[: simulator.model.nq], state[simulator.model.nq :])


def _put_state(simulator: Any, state: np.ndarray) -> None:
    simulator.state = state


_RUNNER = Replayer(_runner, _put_joints)
_ROOT_X = Replayer(partial(_joints, hidden=1), _put_joints)
_ROOT_XY = Replayer(partial(_joints, hidden=2), _put_joints)
_REACHER = Replayer(_reacher, _put_joints)
_STATE = Replayer(_as_recorded, _put_state)

REPLAYERS = {
    "ilfo.environments.cartpole:StochasticCartPole": _STATE,
    "ilfo.environments.locomotion:Hopper": _RUNNER,
    "ilfo.environments.locomotion:Reacher": _REACHER,
    "ilfo.environments.locomotion:Swimmer": _ROOT_XY,
    "ilfo.environments.locomotion:Walker2d": _RUNNER,
    "gymnasium.envs.classic_control.acrobot:AcrobotEnv": Replayer(_acrobot, _put_state),
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": _STATE,
    "gymnasium.envs.classic_control.continuous_mountain_car:Continuous_MountainCarEnv": _STATE,
    "gymnasium.envs.classic_control.mountain_car:MountainCarEnv": _STATE,
    "gymnasium.envs.classic_control.pendulum:PendulumEnv": Replayer(_pendulum, _put_state),
    "gymnasium.envs.mujoco.ant_v5:AntEnv": _ROOT_XY,
    "gymnasium.envs.mujoco.half_cheetah_v5:HalfCheetahEnv": _ROOT_X,
    "gymnasium.envs.mujoco.hopper_v5:HopperEnv": _ROOT_X,
    "gymnasium.envs.mujoco.humanoid_v5:HumanoidEnv": _ROOT_XY,
    "gymnasium.envs.mujoco.reacher_v5:ReacherEnv": _REACHER,
    "gymnasium.envs.mujoco.swimmer_v5:SwimmerEnv": _ROOT_XY,
    "gymnasium.envs.mujoco.walker2d_v5:Walker2dEnv": _ROOT_X,
}
"""By module and class name, so that looking one environment up imports no other."""
