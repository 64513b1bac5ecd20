"""Other bodies: the MuJoCo tasks with other masses, motors, legs or gravity.

The options are factors; 1 is the body that the bundled experts have. They change the description of
the body before MuJoCo compiles it, so that inertias and constraints follow.
"""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import mujoco


@dataclass(frozen=True, kw_only=True)
class Body:
    """How a body differs from the usual one."""

    mass: float = 1.0
    """Mass of the torso; of Swimmer, of all its links; of Reacher, of its links and the inertia of
    its joints, which is nearly all that its motors move."""
    motors: float = 1.0
    """Torque of all motors at the same action."""
    leg: float = 1.0
    """Length of the lower legs, of Hopper and Walker2d. Resets are higher by what is added."""
    gravity: float = 1.0
    """Gravity, of Hopper and Walker2d."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if not number or not (0 < value < math.inf):
                raise ValueError(
                    f"{field.name} is {value!r}, but must be a number above 0; 1 is the usual body"
                )

    @property
    def usual(self) -> bool:
        """Whether nothing is changed."""
        return self == Body()


class Bodied:
    """For subclasses of `MujocoEnv`: their model has the body `self.body`."""

    heavy: ClassVar[Sequence[str]]
    """Names of the parts that `mass` is about."""
    rotors: ClassVar[bool] = False
    """Whether `mass` is about the inertia of their joints, too."""
    legs: ClassVar[Sequence[str]] = ()
    """Names of the parts that `leg` is about; each is a capsule along z with its joint at the upper
    end and the foot below it."""
    body: Body
    fullpath: str

    def _initialize_simulation(self):
        import mujoco

        model, data = super()._initialize_simulation()  # type: ignore[misc]
        if self.body.usual:
            return model, data
        size = model.vis.global_.offwidth, model.vis.global_.offheight
        model = self._compiled()
        model.vis.global_.offwidth, model.vis.global_.offheight = size
        return model, mujoco.MjData(model)

    def _compiled(self) -> "mujoco.MjModel":
        import mujoco

        spec, body = mujoco.MjSpec.from_file(self.fullpath), self.body
        for part in map(spec.body, self.heavy):
            for geom in part.geoms:
                geom.density *= body.mass
            for joint in part.joints if self.rotors else ():
                joint.armature *= body.mass
        for motor in spec.actuators:
            motor.gear[0] *= body.motors
        spec.option.gravity *= body.gravity
        longer = [_lengthen(spec.body(name), body.leg) for name in self.legs]
        if longer:
            _raise(spec, longer[0])
        return spec.compile()


def _lengthen(leg: "mujoco.MjsBody", factor: float) -> float:
    """Make a leg longer and return by how much. The middle of the leg is where its frame is."""
    capsule, foot = leg.geoms[0], leg.bodies[0]
    more = (factor - 1) * capsule.size[1]
    capsule.size[1] += more
    leg.pos[2] -= more
    leg.joints[0].pos[2] += more
    foot.pos[2] -= more
    return 2 * more


def _raise(spec: "mujoco.MjSpec", height: float) -> None:
    """Let the body stand higher, and its joint along z say so."""
    torso = spec.body("torso")
    torso.pos[2] += height
    for joint in torso.joints:
        if joint.name == "rootz":
            joint.ref += height
