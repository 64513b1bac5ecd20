"""Behaviour cloning: the expert's actions in the expert's states, by maximum likelihood.

    minimise  - E_expert log π(a|s)   by 500 passes over the pairs

Two policies are kept. The one that is returned is the paper's generous choice: the epoch with the
highest true return, measured in the environment every `every` passes. Beside it stands what a
user without a reward can do: the epoch with the highest likelihood of pairs that were held out.
Without an environment, the second is the one that is returned.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ilfo.agents.agent import Agent
from ilfo.agents.needs import Needs
from ilfo.agents.problem import Problem
from ilfo.agents.seeds import one_seed
from ilfo.agents.selection import Choice
from ilfo.common.pytrees import all_finite, filter_scan, where
from ilfo.common.seeding import Purpose, named_keys
from ilfo.common.types import DemonstratedSteps, Log, Normaliser
from ilfo.common.validation import require_at_least, require_share
from ilfo.data.sampling import Demonstrated
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.cloning import Cloning, negative_log_likelihood
from ilfo.policies.mlp import MLPPolicy


class BCSettings(eqx.Module):
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
    """Share of the demonstrated steps that is kept aside to judge every pass by."""

    def __post_init__(self):
        require_at_least(self, 1, "passes", "every", "episodes")
        require_share(self, "held_out")
        if self.cloning.plan.passes != 1:
            raise ValueError(
                f"cloning.plan.passes is {self.cloning.plan.passes}, but must be 1: every pass is "
                "judged; `passes` says how many there are"
            )

    @property
    def iterations(self) -> int:
        """The last one only measures what the one before has made."""
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


class Pairs(NamedTuple):
    states: Float[Array, "n S"]
    actions: Array


class Played(NamedTuple):
    """Mean return of a policy's episodes, NaN where there is no environment; and their length."""

    returns: Any
    steps: Any


def init(
    settings: BCSettings, problem: Problem, demonstrated: DemonstratedSteps, *, key: Array
) -> BCState:
    keys = named_keys(key, "policy", "run")
    normaliser = Normaliser.fit(demonstrated.before, demonstrated.weight)
    policy = settings.policy.init(
        problem.state_dim, problem.actions, normaliser, key=keys["policy"]
    )
    none, zero = Choice.none_yet(policy), jnp.zeros((), jnp.int32)
    return BCState(policy, settings.cloning.init(policy), none, none, zero, keys["run"], zero)


def improve(
    settings: BCSettings, problem: Problem, state: BCState, rollout: Played, expert: Pairs
) -> tuple[BCState, Log]:
    """Judge the policy by the episodes that were played, then fit it by the next passes."""
    keys = named_keys(state.key, "passes", "next")
    count = expert.states.shape[0]
    aside = min(max(round(settings.held_out * count), 1), count - 1)
    judged = jnp.arange(count) < aside  # the sample's order is random

    def one_pass(carry, now):
        policy, optimiser, held_out = carry
        number, key = now
        policy, optimiser, _ = settings.cloning.fit(policy, optimiser, expert, ~judged, key=key)
        judgement = negative_log_likelihood(policy, expert, judged.astype(jnp.float32))
        return (policy, optimiser, held_out.or_better(policy, judgement, number)), None

    done = settings.every * state.iteration
    numbers = done + 1 + jnp.arange(settings.every)
    before = (state.policy, state.optimiser, state.held_out)
    after, _ = filter_scan(
        one_pass, before, (numbers, jax.random.split(keys["passes"], settings.every))
    )
    policy, optimiser, held_out = where(done < settings.passes, after, before)
    chosen = state.chosen.or_better(state.policy, -rollout.returns, done)
    chosen = where(jnp.isnan(rollout.returns), held_out, chosen)
    spent = state.spent + rollout.steps
    log = {
        "loss": negative_log_likelihood(policy, expert, (~judged).astype(jnp.float32)),
        "held_out_loss": negative_log_likelihood(policy, expert, judged.astype(jnp.float32)),
        "measured_return": rollout.returns,
        "choosing_samples": spent,
        "finite_policy": all_finite(policy),
    }
    return BCState(
        policy, optimiser, chosen, held_out, spent, keys["next"], state.iteration + 1
    ), log


class BC(Agent):
    """Learn a policy from states and actions: `BC(environment, demonstrations).learn()`.

    The environment may be None; then say what the actions are, `action_space=...`.
    """

    method = "bc"
    needs: ClassVar[Needs] = Needs(actions=True, environment=False, states=True)
    default_settings = BCSettings
    choices: ClassVar = {"best-return": "chosen", "held-out-likelihood": "held_out"}
    metrics = ("loss", "held_out_loss", "measured_return", "choosing_samples")
    init = staticmethod(init)
    improve = staticmethod(improve)

    def digest(self, sample: Demonstrated) -> Pairs:
        actions = self.problem.actions.from_environment(np.asarray(sample.actions))
        return Pairs(self.for_each_seed(sample.steps[:, 0]), self.for_each_seed(actions))

    def act(self) -> Played:
        if self._factory is None:
            unknown = np.full(len(self.seeds), np.nan, np.float32)
            return Played(unknown, np.zeros(len(self.seeds), np.int32))
        returns, steps = [], []
        for index, seed in enumerate(self.seeds):
            policy = one_seed(self.state.policy, index)
            episodes = list(
                self.play(
                    policy, episodes=self.settings.episodes, seed=seed, purpose=Purpose.CHOOSE
                )
            )
            returns.append(np.mean([each.rewards.sum() for each in episodes]))
            steps.append(sum(len(each.rewards) for each in episodes))
        return Played(np.asarray(returns, np.float32), np.asarray(steps, np.int32))
