"""Finite MDPs with a horizon, and the occupancies of their policies.

A policy is an array (H, S, A) of probabilities, one table per step. Shapes: H steps, S states,
A actions.
"""

from typing import NamedTuple

import numpy as np


class FiniteMDP(NamedTuple):
    """Transitions, initial distribution and horizon."""

    transitions: np.ndarray
    """(S, A, S): P(s'|s, a)."""
    start: np.ndarray
    """(S,): distribution of the first state."""
    horizon: int

    @property
    def states(self) -> int:
        return self.transitions.shape[0]

    @property
    def actions(self) -> int:
        return self.transitions.shape[1]


def occupancy(mdp: FiniteMDP, policy: np.ndarray) -> np.ndarray:
    """(H, S, A): probability of each state and action at each step."""
    state, steps = mdp.start, []
    for step in range(mdp.horizon):
        steps.append(state[:, None] * policy[step])
        state = np.einsum("sa,sat->t", steps[-1], mdp.transitions)
    return np.stack(steps)


def policy_of(occupancy: np.ndarray) -> np.ndarray:
    """The policy with this occupancy (H, S, A); uniform in states that are never visited."""
    state = occupancy.sum(-1, keepdims=True)
    uniform = np.full_like(occupancy, 1 / occupancy.shape[-1])
    return np.divide(occupancy, state, out=uniform, where=state > 1e-12)
