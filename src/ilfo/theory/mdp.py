"""Finite MDPs, solved exactly by dynamic programming.

A policy is an array (H, S, A) of probabilities, one table per step; a cost (S, A) is paid at the
steps 0 … H − 1.
"""

from typing import NamedTuple

import numpy as np


class FiniteMDP(NamedTuple):
    transitions: np.ndarray
    """(S, A, S): P(s'|s, a)."""
    start: np.ndarray
    """(S,)."""
    horizon: int

    @property
    def states(self) -> int:
        return self.transitions.shape[0]

    @property
    def actions(self) -> int:
        return self.transitions.shape[1]


def evaluate(mdp: FiniteMDP, cost: np.ndarray, policy: np.ndarray) -> float:
    """V: the expected total cost."""
    value = np.zeros(mdp.states)
    for step in reversed(range(mdp.horizon)):
        value = (policy[step] * (cost + mdp.transitions @ value)).sum(-1)
    return float(mdp.start @ value)


def plan(mdp: FiniteMDP, cost: np.ndarray) -> tuple[np.ndarray, float]:
    """The policy of least expected total cost, deterministic, and that cost."""
    value = np.zeros(mdp.states)
    policy = np.zeros((mdp.horizon, mdp.states, mdp.actions))
    for step in reversed(range(mdp.horizon)):
        q = cost + mdp.transitions @ value
        policy[step, np.arange(mdp.states), q.argmin(-1)] = 1
        value = q.min(-1)
    return policy, float(mdp.start @ value)


def occupancy(mdp: FiniteMDP, policy: np.ndarray) -> np.ndarray:
    """(H, S, A): the probability of each pair at each step."""
    state, steps = mdp.start, []
    for step in range(mdp.horizon):
        steps.append(state[:, None] * policy[step])
        state = np.einsum("sa,sat->t", steps[-1], mdp.transitions)
    return np.stack(steps)


def policy_of(occupancy: np.ndarray) -> np.ndarray:
    """The policy that has this occupancy; uniform where it never is."""
    state = occupancy.sum(-1, keepdims=True)
    uniform = np.full_like(occupancy, 1 / occupancy.shape[-1])
    return np.divide(occupancy, state, out=uniform, where=state > 1e-12)


def random_mdp(
    states: int, actions: int, horizon: int, rng: np.random.Generator, spread: float = 1.0
) -> FiniteMDP:
    """Rows and start drawn from a Dirichlet distribution; a small `spread` makes them peaked."""
    rows = rng.dirichlet(np.full(states, spread), size=(states, actions))
    return FiniteMDP(rows, rng.dirichlet(np.ones(states)), horizon)


def random_policy(mdp: FiniteMDP, rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.ones(mdp.actions), size=(mdp.horizon, mdp.states))
