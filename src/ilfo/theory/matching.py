"""Equation (1) of the paper for finite MDPs: match the expert's states in a model, with a bonus.

    min over π, max over f in F of   E_{(s,a) ~ d^π} [f(s) − b(s, a)] − E_{s ~ expert} f(s)

d^π is the occupancy averaged over the steps. It is linear in the occupancies of single steps, which
form a polytope. So the problem is a linear programme for F = [0, 1]^S, where the maximum over F is
Σ_s (d(s) − e(s))⁺, and for a finite F.
"""

from typing import NamedTuple

import numpy as np

from ilfo.theory.mdp import FiniteMDP, policy_of


class Matching(NamedTuple):
    """The problem; S states, A actions."""

    model: FiniteMDP
    expert: np.ndarray
    """(S,): distribution of the expert's states, averaged over steps."""
    bonus: np.ndarray
    """(S, A): the bonus b."""
    functions: np.ndarray | None = None
    """(m, S): a finite F with values in [0, 1]; None is F = [0, 1]^S."""


class Solution(NamedTuple):
    """A policy that attains the minimum."""

    policy: np.ndarray
    """(H, S, A)."""
    occupancy: np.ndarray
    """(H, S, A): its occupancy in the model."""
    value: float
    """The minimum."""


class SolverError(RuntimeError):
    """The solver failed on the linear programme."""


def divergence(states: np.ndarray, expert: np.ndarray, functions: np.ndarray | None) -> float:
    """max over f in F of E_states f − E_expert f, for distributions of states (S,)."""
    apart = states - expert
    if functions is None:
        return float(np.maximum(apart, 0).sum())
    return float((functions @ apart).max())


def linear_programme(problem: Matching) -> Solution:
    """The exact solution, computed by SciPy's HiGHS."""
    from scipy import sparse
    from scipy.optimize import linprog

    mdp = problem.model
    horizon, states, actions = mdp.horizon, mdp.states, mdp.actions
    stay = sparse.kron(sparse.eye(states), np.ones((1, actions)))
    flow = sparse.kron(sparse.eye(horizon), stay) - sparse.kron(
        sparse.eye(horizon, k=-1), mdp.transitions.reshape(-1, states).T
    )
    begin = np.zeros(horizon * states)
    begin[:states] = mdp.start
    mean_states = sparse.kron(np.full((1, horizon), 1 / horizon), stay)
    if problem.functions is None:  # u(s) ≥ d(s) − e(s), u ≥ 0
        rows, slack, limit = mean_states, sparse.eye(states), problem.expert
        lowest: list[float | None] = [0.0] * states
    else:  # v ≥ f·(d − e) for every f
        rows = sparse.csr_matrix(problem.functions) @ mean_states
        slack, limit = np.ones((len(problem.functions), 1)), problem.functions @ problem.expert
        lowest = [None]
    result = linprog(
        np.concatenate([-np.tile(problem.bonus.ravel(), horizon) / horizon, np.ones(len(lowest))]),
        A_ub=sparse.hstack([rows, -sparse.csr_matrix(slack)], format="csr"),
        b_ub=limit,
        A_eq=sparse.hstack([flow, sparse.csr_matrix((flow.shape[0], len(lowest)))], format="csr"),
        b_eq=begin,
        bounds=[(low, None) for low in [0.0] * flow.shape[1] + lowest],
        method="highs",
    )
    if result.status != 0:
        raise SolverError(f"HiGHS did not solve the linear programme: {result.message}")
    occupancies = np.maximum(result.x[: flow.shape[1]], 0).reshape(horizon, states, actions)
    return Solution(policy_of(occupancies), occupancies, float(result.fun))
