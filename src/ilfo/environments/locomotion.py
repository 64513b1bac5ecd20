"""The paper's Hopper, Walker2d, Swimmer and Reacher, on current MuJoCo models.

As in the paper, an observation of Hopper or Walker2d holds the distance that the torso moved along
x in the last step (0 after a reset), the joint positions without x, and the joint velocities times
the duration of a step. All take options of other bodies (`ilfo.environments.bodies`).
"""

import abc
import numbers
from typing import Any, ClassVar

import numpy as np
from gymnasium.envs.mujoco.mujoco_env import MujocoEnv
from gymnasium.envs.mujoco.reacher_v5 import ReacherEnv
from gymnasium.envs.mujoco.swimmer_v5 import SwimmerEnv
from gymnasium.spaces import Box

from ilfo.environments.bodies import Bodied, Body
from ilfo.environments.endings import hopper_ends, walker2d_ends

FRAME_SKIP = 10
GAIN = 2.5
"""Every reward is multiplied by this."""


class Runner(Bodied, MujocoEnv):
    """Base class of Hopper and Walker2d. The reward is 2.5 · (v_x + 1 - 0.001 |a|²)."""

    heavy = ("torso",)
    model_file: ClassVar[str]
    metadata = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
        "render_fps": 50,
    }

    def __init__(
        self,
        mass: float = 1.0,
        motors: float = 1.0,
        leg: float = 1.0,
        gravity: float = 1.0,
        reset_noise: float = 5e-3,
        **rendering: Any,
    ):
        self.body = Body(mass=mass, motors=motors, leg=leg, gravity=gravity)
        self.reset_noise = reset_noise
        if not isinstance(reset_noise, numbers.Real) or not 0 <= float(reset_noise) < np.inf:
            raise ValueError(f"reset_noise is {reset_noise!r}, but must be a number from 0 on")
        camera = {"trackbodyid": 2, "distance": 3.0, "elevation": -20.0}
        super().__init__(
            self.model_file,
            FRAME_SKIP,
            observation_space=None,
            default_camera_config=camera,
            **rendering,
        )
        size = self.model.nq + self.model.nv
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float32)
        self.observation_structure = {
            "skipped_qpos": 1,
            "moved": 1,
            "qpos": self.model.nq - 1,
            "qvel": self.model.nv,
        }

    def step(self, action: Any) -> Any:
        before = self.data.qpos[0]
        self.do_simulation(action, self.frame_skip)
        moved = self.data.qpos[0] - before
        speed = moved / self.dt
        observation = self._observation(moved)
        reward = GAIN * (speed + 1.0 - 1e-3 * np.square(action).sum())
        if self.render_mode == "human":
            self.render()
        return observation, float(reward), self.ends(observation), False, {}

    @abc.abstractmethod
    def ends(self, observation: np.ndarray) -> bool:
        """Whether the runner has fallen."""

    def _observation(self, moved: float) -> np.ndarray:
        parts = ((moved,), self.data.qpos[1:], self.dt * self.data.qvel)
        return np.concatenate(parts).astype(np.float32)

    def reset_model(self) -> np.ndarray:
        draw = lambda size: self.np_random.uniform(-self.reset_noise, self.reset_noise, size)
        self.set_state(self.init_qpos + draw(self.model.nq), self.init_qvel + draw(self.model.nv))
        return self._observation(0.0)


class Hopper(Runner):
    """The paper's Hopper."""

    model_file = "hopper.xml"
    legs = ("leg",)

    def ends(self, observation):
        return bool(hopper_ends(observation))


class Walker2d(Runner):
    """The paper's Walker2d."""

    model_file = "walker2d_v5.xml"
    legs = ("leg", "leg_left")

    def ends(self, observation):
        return bool(walker2d_ends(observation))


class Swimmer(Bodied, SwimmerEnv):
    """Gymnasium's Swimmer with the paper's frame skip and rewards multiplied by 2.5."""

    heavy = ("torso", "mid", "back")

    def __init__(self, mass: float = 1.0, motors: float = 1.0, **rendering: Any):
        self.body = Body(mass=mass, motors=motors)
        super().__init__(frame_skip=FRAME_SKIP, **rendering)

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, GAIN * reward, terminated, truncated, info


class Reacher(Bodied, ReacherEnv):
    """Gymnasium's Reacher-v5."""

    heavy = ("body0", "body1")
    rotors = True

    def __init__(self, mass: float = 1.0, motors: float = 1.0, **rendering: Any):
        self.body = Body(mass=mass, motors=motors)
        super().__init__(**rendering)
