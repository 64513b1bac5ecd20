"""Mean features E ψ of the demonstrations, in one streaming pass over them."""

from collections.abc import Iterable, Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ilfo.common.types import Rollout
from ilfo.data.demonstrations import Trajectory
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.occupancy import recorded

PORTION = 4096
"""Number of steps whose features are computed at once."""


def mean_features(
    trajectories: Iterable[Trajectory], spec: AbstractDiscriminator, states, horizon: int
) -> Float[Array, "K D"]:
    """E ψ of the demonstrations for each of K discriminators (`states` has a leading axis K).

    After its termination a trajectory counts up to the horizon, in the absorbing state. A truncated
    trajectory counts as far as it goes. Steps beyond the horizon do not count.
    """

    @eqx.filter_jit
    def portion_sums(states, portion: Rollout):
        def one(state):
            psi = jax.vmap(jax.vmap(state.demonstrated))(portion.state, portion.next_state)
            return spec.total_features(psi, portion, recorded(portion, horizon))

        return eqx.filter_vmap(one)(states)

    total, mass = np.zeros(()), np.zeros(())
    for portion in _portions(_rows(trajectories, horizon)):
        sums, masses = portion_sums(states, portion)
        total = total + np.asarray(sums, np.float64)
        mass = mass + np.asarray(masses, np.float64)
    return jnp.asarray(total / np.asarray(mass)[:, None], jnp.float32)


def _rows(trajectories: Iterable[Trajectory], horizon: int) -> Iterator[list[np.ndarray]]:
    """Per trajectory, up to the horizon: states, next states, terminal flags, elapsed steps."""
    for trajectory in trajectories:
        if len(trajectory.states) < 2:
            continue  # a clip of one state has no step
        before, after = trajectory.states[:-1][:horizon], trajectory.states[1:][:horizon]
        terminal = np.zeros(len(before), bool)
        terminal[-1] = trajectory.terminal and len(trajectory.states) - 1 <= horizon
        yield [before, after, terminal, np.arange(len(before), dtype=np.int32)]


def _portions(rows: Iterable[list[np.ndarray]]) -> Iterator[Rollout]:
    """The rows as rollouts of one stream and PORTION steps; the last one is padded."""
    waiting: list[list[np.ndarray]] = []
    count = 0
    for new in rows:
        waiting.append(new)
        count += len(new[0])
        if count >= PORTION:  # joined only now: once per trajectory, it would take square time
            joined = _joined(waiting)
            whole = count - count % PORTION
            for first in range(0, whole, PORTION):
                yield _as_rollout([column[first : first + PORTION] for column in joined], PORTION)
            waiting, count = [[column[whole:] for column in joined]], count - whole
    if count:
        pad = lambda x: np.concatenate([x, np.zeros((PORTION - count, *x.shape[1:]), x.dtype)])
        yield _as_rollout([pad(column) for column in _joined(waiting)], count)


def _joined(rows: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.concatenate(columns) for columns in zip(*rows, strict=True)]


def _as_rollout(columns: list[np.ndarray], count: int) -> Rollout:
    before, after, terminal, elapsed = (jnp.asarray(column)[None] for column in columns)
    never = jnp.zeros_like(terminal)
    valid = (jnp.arange(PORTION) < count)[None]
    return Rollout(before, None, after, terminal, never, never, valid, elapsed)
