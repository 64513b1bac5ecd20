"""Equation (1) for finite MDPs: match the expert's states in a model, with a bonus.

    min over π, max over f in F of   E_{(s,a) ~ d^π} [f(s) − b(s, a)] − E_{s ~ expert} f(s)

d^π is the occupancy averaged over the steps. It is linear in the step-indexed occupancies, which
form a polytope, so for F = [0, 1]^S, where the maximum is Σ_s (d(s) − e(s))⁺, and for a finite F
the problem is a linear programme. `best_response` solves it as a game instead: a no-regret learner
(regret matching⁺) plays f, dynamic programming answers with the best policy, both are averaged.
The duality gap, max_f L(d̄, f) − min_π L(π, f̄), bounds how far either is from the value.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ilfo.theory.mdp import FiniteMDP, occupancy, plan, policy_of


class Matching(NamedTuple):
    """The problem."""

    model: FiniteMDP
    expert: np.ndarray
    """(S,): the distribution of the expert's states, averaged over steps."""
    bonus: np.ndarray
    """(S, A)."""
    functions: np.ndarray | None = None
    """(m, S): a finite F, values in [0, 1]; None is F = [0, 1]^S."""


class Solution(NamedTuple):
    policy: np.ndarray
    occupancy: np.ndarray
    value: float
    gap: float
    """How far `value` may lie above the least possible one."""


class SolverError(RuntimeError):
    """The linear programme was not solved."""


def divergence(states: np.ndarray, expert: np.ndarray, functions: np.ndarray | None) -> float:
    """max over F of E_states f − E_expert f."""
    apart = states - expert
    if functions is None:
        return float(np.maximum(apart, 0).sum())
    return float((functions @ apart).max())


def objective(problem: Matching, occupancies: np.ndarray) -> float:
    """The maximum over F for given occupancies (H, S, A)."""
    mean = occupancies.mean(0)
    apart = divergence(mean.sum(-1), problem.expert, problem.functions)
    return apart - float((mean * problem.bonus).sum())


def linear_programme(problem: Matching) -> Solution:
    """Exact, by SciPy's HiGHS."""
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
    found = linprog(
        np.concatenate([-np.tile(problem.bonus.ravel(), horizon) / horizon, np.ones(len(lowest))]),
        A_ub=sparse.hstack([rows, -sparse.csr_matrix(slack)], format="csr"),
        b_ub=limit,
        A_eq=sparse.hstack([flow, sparse.csr_matrix((flow.shape[0], len(lowest)))], format="csr"),
        b_eq=begin,
        bounds=[(low, None) for low in [0.0] * flow.shape[1] + lowest],
        method="highs",
    )
    if found.status != 0:
        raise SolverError(f"HiGHS: {found.message}")
    occupancies = np.maximum(found.x[: flow.shape[1]], 0).reshape(horizon, states, actions)
    return Solution(policy_of(occupancies), occupancies, float(found.fun), 0.0)


def best_response(
    problem: Matching, *, tolerance: float = 0.01, iterations: int = 20_000
) -> Solution:
    """By repeated play until the duality gap is at most `tolerance`; later rounds weigh more."""
    mdp, finite = problem.model, problem.functions
    # per state the choices f(s) = 0 or 1; for a finite F one choice among its members
    regrets = np.zeros((mdp.states, 2) if finite is None else len(finite))
    total_d = np.zeros((mdp.horizon, mdp.states, mdp.actions))
    total_f, weight = np.zeros(mdp.states), 0
    for rounds in range(1, iterations + 1):
        shares = _shares(regrets)
        f = shares[:, 1] if finite is None else shares @ finite
        d = occupancy(mdp, plan(mdp, f[:, None] - problem.bonus)[0])
        total_d, total_f, weight = total_d + rounds * d, total_f + rounds * f, weight + rounds
        apart = d.mean(0).sum(-1) - problem.expert
        paid = np.stack([0 * apart, apart], 1) if finite is None else finite @ apart
        earned = (shares * paid).sum(-1, keepdims=True)
        regrets = np.maximum(regrets + paid - earned, 0)
        if rounds % 50 == 0:
            gap = _gap(problem, total_d / weight, total_f / weight)
            if gap <= tolerance:
                break
    occupancies = total_d / weight
    gap = _gap(problem, occupancies, total_f / weight)
    return Solution(policy_of(occupancies), occupancies, objective(problem, occupancies), gap)


def _gap(problem: Matching, occupancies: np.ndarray, f: np.ndarray) -> float:
    _, least = plan(problem.model, f[:, None] - problem.bonus)
    lower = least / problem.model.horizon - float(problem.expert @ f)
    return objective(problem, occupancies) - lower


def _shares(regrets: np.ndarray) -> np.ndarray:
    total = regrets.sum(-1, keepdims=True)
    uniform = np.full_like(regrets, 1 / regrets.shape[-1])
    return np.divide(regrets, total, out=uniform, where=total > 0)
