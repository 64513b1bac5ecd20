"""What ends an episode of the paper's tasks, as pure functions of the observation.

The environment on the host and imagined rollouts under jit ask the same function: it only uses
operators that NumPy's and JAX's arrays share.
"""

from typing import Any

TWELVE_DEGREES = 0.20943951
LARGEST = 100.0
"""A number of this size or more in an observation: the simulation has diverged."""


def cartpole_ends(state: Any) -> Any:
    """The cart left the track, |x| > 2.4, or the pole fell, |θ| > 12°."""
    return (abs(state[0]) > 2.4) | (abs(state[2]) > TWELVE_DEGREES)


def never_ends(state: Any) -> Any:
    """Only the time limit stops an episode."""
    return state[0] != state[0]


def hopper_ends(state: Any) -> Any:
    """Fallen (height up to 0.7), tilted by 1 or more, or the simulation diverged."""
    return (state[1] <= 0.7) | (abs(state[2]) >= 1.0) | ~_sane(state)


def walker2d_ends(state: Any) -> Any:
    """Height not between 0.8 and 2, tilted by 1 or more, or the simulation diverged."""
    height = state[1]
    return (height <= 0.8) | (height >= 2.0) | (abs(state[2]) >= 1.0) | ~_sane(state)


def _sane(state: Any) -> Any:
    return (abs(state) < LARGEST).all()  # NaN compares false
