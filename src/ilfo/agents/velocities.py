"""Velocities by finite differences, for recordings of positions whose rate is known.

Which dimension of the state is the velocity of a recorded position, and in which units, is found
where random actions move the environment (`ilfo.agents.kinematics`). With x_t the recorded
positions, k control steps between two of them and c the change of a position over a control step
at velocity 1:

    v_t = (x_{t+1} - x_{t-1}) / (2 k c)

At k = 1 a position changes by the velocity before the step in some environments, v_t =
(x_{t+1} - x_t) / c, or by the one after it, v_t = (x_t - x_{t-1}) / c. The first and the last state
have one neighbour only. Differences enlarge the noise of positions.
"""

import numpy as np

from ilfo.agents.kinematics import Motion, motions
from ilfo.agents.problem import in_control_steps, state_problem
from ilfo.agents.sight import look
from ilfo.common.spaces import state_dim
from ilfo.data.altered import moving, with_dimensions
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Factory


def with_velocities(demonstrations: Demonstrations, factory: Factory) -> Demonstrations:
    """The recordings with the velocities of the positions that they hold, as dimensions of the
    state of that environment. Where nothing is missing then, they hold whole states. Clips of one
    state, which show no velocity, are left out."""
    demonstrations = in_control_steps(moving(demonstrations), factory)
    dim = state_dim(factory.observation_space)
    if demonstrations.observed is None and demonstrations.dim == dim:
        raise ValueError(
            f"the recordings hold all {dim} dimensions of the state already; if they do not, say "
            "which they hold: --observe"
        )
    held = demonstrations.observed
    if held is None or max(held) >= dim:
        raise ValueError(
            f"rows of the recordings have {demonstrations.dim} numbers and the state of "
            f"{factory.name} has {dim}, 0 to {dim - 1}; say which of them they hold: --observe"
        )
    steps = look(factory, state_problem(factory, dim, None)).steps
    found = [
        motion
        for motion in motions(steps)
        if motion.position in held and motion.velocity not in held
    ]
    if not found:
        raise ValueError(
            f"no velocity can be derived: under random actions no recorded dimension of "
            f"{factory.name}, {list(held)}, changes as another one says that is not recorded"
        )
    every = demonstrations.every

    def derived(states: np.ndarray) -> np.ndarray:
        columns = (states[:, held.index(motion.position)] for motion in found)
        return np.stack(
            [velocity(x, motion, every) for x, motion in zip(columns, found, strict=True)], axis=1
        )

    return with_dimensions(demonstrations, [motion.velocity for motion in found], derived, dim)


def velocity(positions: np.ndarray, motion: Motion, every: int) -> np.ndarray:
    """Of recorded positions that are `every` control steps apart."""
    ahead = np.diff(positions) / (motion.slope * every)
    before, after = np.append(ahead, ahead[-1]), np.append(ahead[0], ahead)
    if every > 1 or motion.level == "between":
        return (before + after) / 2
    return before if motion.level == "before" else after
