"""What training needs to know of the demonstrations, gathered in two streaming passes.

The first pass keeps a fixed-size uniform sample of steps, from which scales, bandwidth, start
states and the largest norm follow; the second sums features. Neither holds more than one
trajectory and the sample, so the set may be larger than memory.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ilfo.demonstrations import Trajectory
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.occupancy import recorded
from ilfo.types import Rollout

SAMPLE = 20_000
"""Demonstrated steps kept for scales, bandwidth and start states."""
STARTS = 5_000
"""Of these, states that imagined trajectories may begin in."""
PORTION = 4096
"""Steps whose features are computed at once."""


class ExpertSteps(NamedTuple):
    """The demonstrations' steps, for methods that have to see states."""

    mean_features: Float[Array, " D"]
    steps: Float[Array, "n 2 S"]


class Expert(eqx.Module):
    """The demonstrations as one compiled iteration sees them."""

    mean_features: Float[Array, " D"]
    starts: Float[Array, "n S"] | None
    """Demonstrated states to begin imagined trajectories from; None when the demonstrations hold
    a feature of the state instead."""
    reached: Float[Array, "m S"] | None
    """A sample of the states that demonstrated steps lead to, terminal ones included."""


class Demonstrated(NamedTuple):
    """A sample of demonstrated steps, in random order."""

    steps: np.ndarray
    """(n, 2, F): what was seen before and after."""
    actions: np.ndarray | None
    """(n, ...) in the environment's units; None for a method that may not see them."""
    terminal: np.ndarray
    """(n,): the step ended its episode."""
    elapsed: np.ndarray
    """(n,): steps of the episode before this one."""
    trajectory: np.ndarray
    """(n,): number of the trajectory it is from."""


def sample(
    trajectories: Iterable[Trajectory], size: int, generator: np.random.Generator
) -> Demonstrated:
    """A uniform sample of steps, all of them where there are at most `size`.

    Every step draws a random rank and the smallest ranks stay: one pass, no knowledge of the
    total. The sample is in order of its ranks.
    """
    kept: list[Any] = []
    ranks = np.empty(0)
    for number, trajectory in enumerate(trajectories):
        new = _columns(trajectory, number)
        if kept and (kept[1] is None) != (new[1] is None):
            raise ValueError("some of the demonstrations hold actions and some do not")
        ranks = np.concatenate([ranks, generator.random(len(new[0]))])
        order = np.argsort(ranks)[:size]
        kept = [
            None if after is None else np.concatenate([before, after])[order]
            for before, after in zip(kept or _none_of(new), new, strict=True)
        ]
        ranks = ranks[order]
    assert kept, "demonstrations are never empty"
    return Demonstrated(*kept)


def _columns(trajectory: Trajectory, number: int) -> list[Any]:
    steps = np.stack([trajectory.states[:-1], trajectory.states[1:]], axis=1)
    terminal = np.zeros(len(steps), bool)
    terminal[-1] = trajectory.terminal
    elapsed = np.arange(len(steps), dtype=np.int32)
    return [steps, trajectory.actions, terminal, elapsed, np.full(len(steps), number, np.int32)]


def _none_of(columns: list[Any]) -> list[Any]:
    return [None if column is None else column[:0] for column in columns]


def sample_steps(
    trajectories: Iterable[Trajectory], size: int, generator: np.random.Generator
) -> np.ndarray:
    """The steps (n, 2, F) of such a sample."""
    return sample(trajectories, size, generator).steps


def mean_features(
    trajectories: Iterable[Trajectory], spec: AbstractDiscriminator, states, horizon: int
) -> Float[Array, "K D"]:
    """E ψ under the demonstrations for each of K discriminators (arrays with a leading K).

    A trajectory that ended in a terminal state counts up to the horizon, in its absorbing state;
    one that was cut off counts as far as it goes. Steps beyond the horizon do not count.
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
    """Per trajectory: states before, states after, terminal, elapsed; up to the horizon."""
    for trajectory in trajectories:
        before, after = trajectory.states[:-1][:horizon], trajectory.states[1:][:horizon]
        terminal = np.zeros(len(before), bool)
        terminal[-1] = trajectory.terminal and len(trajectory.states) - 1 <= horizon
        yield [before, after, terminal, np.arange(len(before), dtype=np.int32)]


def _portions(rows: Iterable[list[np.ndarray]]) -> Iterator[Rollout]:
    """The rows as rollouts of one stream and PORTION steps, the last one padded."""
    waiting: list[np.ndarray] | None = None
    for new in rows:
        waiting = (
            new if waiting is None else [np.concatenate(p) for p in zip(waiting, new, strict=True)]
        )
        while len(waiting[0]) >= PORTION:
            yield _as_rollout([column[:PORTION] for column in waiting], PORTION)
            waiting = [column[PORTION:] for column in waiting]
    if waiting is not None and len(waiting[0]):
        count = len(waiting[0])
        pad = lambda x: np.concatenate([x, np.zeros((PORTION - count, *x.shape[1:]), x.dtype)])
        yield _as_rollout([pad(column) for column in waiting], count)


def _as_rollout(columns: list[np.ndarray], count: int) -> Rollout:
    before, after, terminal, elapsed = (jnp.asarray(column)[None] for column in columns)
    never = jnp.zeros_like(terminal)
    valid = (jnp.arange(PORTION) < count)[None]
    return Rollout(before, None, after, terminal, never, never, valid, elapsed)
