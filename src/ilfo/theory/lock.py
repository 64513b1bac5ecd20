"""Tabular MobILE (paper, Algorithm 1) and a combination lock to run it on.

The lock has L levels and one absorbing failure state. At each level one action is right and moves
to the next level with probability 0.6, one is safe and does so with probability 0.2, and the others
never do. If a step does not move on, the episode stays in the failure state. The expert takes the
right or the safe action, with probability ½ each. After one unlucky try the right action looks
worse than the safe one in the counts, and without a bonus it is never tried again.

MobILE matches the expert's states in the tabular model with b = scale·H·min(σ, 2). It plans again
at the end of the first episode after which the count of some pair has doubled since the last plan.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ilfo.dynamics.tabular import Tabular
from ilfo.theory.matching import Matching, divergence, linear_programme
from ilfo.theory.mdp import FiniteMDP, occupancy

RIGHT, SAFE = 0.6, 0.2
DELTA = 0.1
"""δ of the uncertainty σ, with the paper's constants."""
CHUNK = 4096
"""Largest number of episodes simulated at once."""


class Lock(NamedTuple):
    """A lock and its expert."""

    mdp: FiniteMDP
    expert: np.ndarray
    """(H, S, A): the policy that takes the right or the safe action, with probability ½ each."""

    @property
    def expert_states(self) -> np.ndarray:
        """(S,): distribution of the expert's states, averaged over steps."""
        return occupancy(self.mdp, self.expert).mean(0).sum(-1)


def combination_lock(levels: int, actions: int, rng: np.random.Generator) -> Lock:
    """A lock with random right and safe actions; the horizon equals the number of levels."""
    transitions = np.zeros((levels + 1, actions, levels + 1))
    transitions[:, :, levels] = 1.0
    policy = np.full((levels, levels + 1, actions), 1 / actions)
    for level in range(levels):
        right, safe = rng.choice(actions, size=2, replace=False)
        policy[:, level] = np.eye(actions)[[right, safe]].mean(0)
        for action, chance in ((right, RIGHT), (safe, SAFE)):
            transitions[level, action] = 0
            transitions[level, action, min(level + 1, levels - 1)] = chance
            transitions[level, action, levels] = 1 - chance
    start = np.eye(levels + 1)[0]
    return Lock(FiniteMDP(transitions, start, levels), policy)


def simulate(
    mdp: FiniteMDP, policy: np.ndarray, episodes: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, actions and next states, each (episodes, H)."""
    draw = lambda rows: (rows.cumsum(-1) < rng.uniform(size=(len(rows), 1))).sum(-1)
    last = lambda index, size: np.minimum(index, size - 1)  # rounding of the last cumulative sum
    state = last(draw(np.tile(mdp.start, (episodes, 1))), mdp.states)
    steps = []
    for step in range(mdp.horizon):
        action = last(draw(policy[step, state]), mdp.actions)
        following = last(draw(mdp.transitions[state, action]), mdp.states)
        steps.append((state, action, following))
        state = following
    columns = zip(*steps, strict=True)
    states, actions, reached = (np.stack(column, 1) for column in columns)
    return states, actions, reached


@jax.jit
def _estimates(counts, episode):
    model = Tabular(counts, episode, DELTA, "paper")
    return model.transitions, model.widths


def mobile(
    lock: Lock,
    demonstrated: np.ndarray,
    scale: float,
    checkpoints: Sequence[int],
    rng: np.random.Generator,
) -> tuple[list[float], list[int]]:
    """Run MobILE up to the last checkpoint, a number of episodes.

    `demonstrated` (S,) is the distribution of the demonstrations' states. Returns the gap to the
    expert, for the worst cost in [0, 1]^S, and the number of plans so far, at each checkpoint.
    """
    mdp, target = lock.mdp, lock.expert_states
    counts = np.zeros(mdp.transitions.shape, np.int64)
    episode, plans = 0, 0
    gaps: list[float] = []
    planned: list[int] = []
    limit, policy, gap = np.zeros(counts.shape[:2]), lock.expert, np.inf
    while episode < checkpoints[-1]:
        if (counts.sum(-1) >= limit).any():
            policy = _plan(mdp, counts, episode, demonstrated, scale)
            gap = mdp.horizon * divergence(occupancy(mdp, policy).mean(0).sum(-1), target, None)
            limit, plans = np.maximum(2 * counts.sum(-1), 1), plans + 1
        ahead = min(CHUNK, max(episode, 1), checkpoints[len(gaps)] - episode)
        steps = simulate(mdp, policy, ahead, rng)
        taken = _until_doubled(steps, counts.sum(-1), limit)
        np.add.at(counts, tuple(part[:taken].ravel() for part in steps), 1)
        episode += taken
        if episode == checkpoints[len(gaps)]:
            gaps.append(gap)
            planned.append(plans)
    return gaps, planned


def _plan(mdp, counts, episode, demonstrated, scale) -> np.ndarray:
    estimate, widths = _estimates(jnp.asarray(counts, jnp.int32), episode + 1)
    rows = np.asarray(estimate, float)
    model = mdp._replace(transitions=rows / rows.sum(-1, keepdims=True))
    bonus = scale * mdp.horizon * np.asarray(widths, float)
    return linear_programme(Matching(model, demonstrated, bonus)).policy


def _until_doubled(steps, before: np.ndarray, limit: np.ndarray) -> int:
    """Number of episodes up to and including the first after which some pair's count has reached
    its limit; all of them if none does."""
    states, actions, _ = steps
    episodes, pairs = len(states), before.size
    visits = np.zeros((episodes, pairs), np.int64)
    np.add.at(visits, (np.arange(episodes)[:, None], states * before.shape[1] + actions), 1)
    reached = (before.ravel() + visits.cumsum(0) >= limit.ravel()).any(1)
    return int(reached.argmax()) + 1 if reached.any() else episodes
