"""Random finite MDPs, and independent ways to compute what `ilfo.theory` computes."""

import numpy as np

from ilfo.theory.matching import Matching, Solution, divergence
from ilfo.theory.mdp import FiniteMDP, occupancy, policy_of


def random_mdp(
    states: int, actions: int, horizon: int, rng: np.random.Generator, spread: float = 1.0
) -> FiniteMDP:
    """Rows and start drawn from a Dirichlet distribution; a small `spread` makes them peaked."""
    rows = rng.dirichlet(np.full(states, spread), size=(states, actions))
    return FiniteMDP(rows, rng.dirichlet(np.ones(states)), horizon)


def random_policy(mdp: FiniteMDP, rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.ones(mdp.actions), size=(mdp.horizon, mdp.states))


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


def objective(problem: Matching, occupancies: np.ndarray) -> float:
    """The maximum over F for given occupancies (H, S, A)."""
    mean = occupancies.mean(0)
    apart = divergence(mean.sum(-1), problem.expert, problem.functions)
    return apart - float((mean * problem.bonus).sum())


def best_response(
    problem: Matching, *, tolerance: float = 0.01, iterations: int = 20_000
) -> tuple[Solution, float]:
    """Equation (1) solved as a game, and the duality gap.

    A no-regret learner (regret matching⁺) plays f, dynamic programming answers with the best
    policy, and both are averaged, later rounds with more weight, until the duality gap
    max_f L(d̄, f) − min_π L(π, f̄) is at most `tolerance`. It bounds how far the value is from the
    minimum.
    """
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
    solution = Solution(policy_of(occupancies), occupancies, objective(problem, occupancies))
    return solution, gap


def _gap(problem: Matching, occupancies: np.ndarray, f: np.ndarray) -> float:
    _, least = plan(problem.model, f[:, None] - problem.bonus)
    lower = least / problem.model.horizon - float(problem.expert @ f)
    return objective(problem, occupancies) - lower


def _shares(regrets: np.ndarray) -> np.ndarray:
    total = regrets.sum(-1, keepdims=True)
    uniform = np.full_like(regrets, 1 / regrets.shape[-1])
    return np.divide(regrets, total, out=uniform, where=total > 0)
