"""Behaviour cloning: the expert's actions in the expert's states, by maximum likelihood.

    minimise  - E_expert log π(a|s)   by 500 passes over the pairs

Two policies are kept: the one with the highest true return, measured in the environment every
`every` passes, as in the paper; and the one with the highest likelihood of held-out pairs, which
needs no reward. The first is returned, or the second if there is no environment.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ilfo.agents.agent import Agent
from ilfo.agents.method import Method, Needs, Selection
from ilfo.agents.problem import Problem
from ilfo.agents.seeds import one_seed
from ilfo.agents.selection import Choice
from ilfo.agents.settings import Settings
from ilfo.common.pytrees import all_finite, filter_scan, where
from ilfo.common.seeding import Purpose, named_keys
from ilfo.common.types import DemonstratedSteps, Expert, Log
from ilfo.common.validation import require_at_least, require_share
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.cloning import Cloning, negative_log_likelihood
from ilfo.policies.mlp import MLPPolicy


class BCSettings(Settings):
    """Hyper-parameters of behaviour cloning."""

    policy: MLPPolicy = MLPPolicy()
    """The policy's network."""
    cloning: Cloning = Cloning()
    """How it is fitted; one fit is one pass here."""
    passes: int = 500
    """Passes over the demonstrations, in whole iterations."""
    every: int = 10
    """Passes between two measurements of the return, which is one iteration."""
    episodes: int = 10
    """Greedy episodes of each measurement."""
    held_out: float = 0.1
    """Share of the demonstrated steps that is held out for validation."""

    def __post_init__(self):
        require_at_least(self, 1, "passes", "every", "episodes")
        require_share(self, "held_out")
        if self.cloning.plan.passes != 1:
            raise ValueError(
                f"cloning.plan.passes is {self.cloning.plan.passes}, but must be 1: every pass is "
                "validated; `passes` says how many there are"
            )

    @property
    def iterations(self) -> int:
        """One extra iteration measures the return of the last policy."""
        return -(-self.passes // self.every) + 1


class BCState(eqx.Module):
    policy: AbstractPolicy
    optimiser: Any
    chosen: Choice
    """By the true return; `iteration` counts passes in both."""
    held_out: Choice
    """By the likelihood of the held-out pairs."""
    spent: Int[Array, ""]
    """Environment steps that choosing by the return has taken."""
    key: Array
    iteration: Int[Array, ""]


class Played(NamedTuple):
    """Mean return of a policy's episodes, NaN where there is no environment; and their length."""

    returns: Any
    steps: Any


def init(
    settings: BCSettings, problem: Problem, steps: DemonstratedSteps, *, key: Array
) -> BCState:
    keys = named_keys(key, "policy", "run")
    normaliser = steps.scales("before")
    policy = settings.policy.init(
        problem.state_dim, problem.actions, normaliser, key=keys["policy"]
    )
    none, zero = Choice.none_yet(policy), jnp.zeros((), jnp.int32)
    return BCState(policy, settings.cloning.init(policy), none, none, zero, keys["run"], zero)


def improve(
    settings: BCSettings, problem: Problem, state: BCState, experience: Played, expert: Expert
) -> tuple[BCState, Log]:
    """Judge the policy by the episodes that were played, then fit it by the next passes."""
    keys = named_keys(state.key, "passes", "next")
    pairs = (expert.steps.before, expert.steps.actions)
    count = pairs[0].shape[0]
    aside = min(max(round(settings.held_out * count), 1), count - 1)
    judged = jnp.arange(count) < aside  # the sample's order is random

    def one_pass(carry, now):
        policy, optimiser, held_out = carry
        number, key = now
        policy, optimiser, _ = settings.cloning.fit(policy, optimiser, pairs, ~judged, key=key)
        judgement = negative_log_likelihood(policy, pairs, judged.astype(jnp.float32))
        return (policy, optimiser, held_out.or_better(policy, judgement, number)), None

    done = settings.every * state.iteration
    numbers = done + 1 + jnp.arange(settings.every)
    before = (state.policy, state.optimiser, state.held_out)
    after, _ = filter_scan(
        one_pass, before, (numbers, jax.random.split(keys["passes"], settings.every))
    )
    policy, optimiser, held_out = where(done < settings.passes, after, before)
    chosen = state.chosen.or_better(state.policy, -experience.returns, done)
    chosen = where(jnp.isnan(experience.returns), held_out, chosen)
    spent = state.spent + experience.steps
    log = {
        "loss": negative_log_likelihood(policy, pairs, (~judged).astype(jnp.float32)),
        "held_out_loss": negative_log_likelihood(policy, pairs, judged.astype(jnp.float32)),
        "measured_return": experience.returns,
        "choosing_samples": spent,
        "finite_policy": all_finite(policy),
    }
    return BCState(
        policy, optimiser, chosen, held_out, spent, keys["next"], state.iteration + 1
    ), log


def measure_returns(agent: Agent) -> Played:
    """Greedy episodes of each seed's policy, by which the best one is selected."""
    if not agent.has_environment:
        unknown = np.full(len(agent.seeds), np.nan, np.float32)
        return Played(unknown, np.zeros(len(agent.seeds), np.int32))
    returns, steps = [], []
    for index, seed in enumerate(agent.seeds):
        policy, count = one_seed(agent.state.policy, index), agent.settings.episodes
        episodes = list(agent.play(policy, episodes=count, seed=seed, purpose=Purpose.CHOOSE))
        returns.append(np.mean([episode.rewards.sum() for episode in episodes]))
        steps.append(sum(len(episode.rewards) for episode in episodes))
    return Played(np.asarray(returns, np.float32), np.asarray(steps, np.int32))


class BC(Agent):
    """Learn a policy from states and actions: `BC(environment, demonstrations).learn()`.

    The environment may be None; then say what the actions are, `action_space=...`.
    """

    method = Method(
        name="bc",
        settings=BCSettings,
        init=init,
        improve=improve,
        needs=Needs(actions=True, environment=False, states=True),
        interact=measure_returns,
        discriminator=None,
        selections=(
            Selection("best-return", "chosen", "cost", "their return"),
            Selection("held-out-likelihood", "held_out", "loss", "held-out likelihood"),
        ),
        metrics=("loss", "held_out_loss", "measured_return", "choosing_samples"),
        shown={"measured_return": "return", "held_out_loss": "held-out loss"},
    )
