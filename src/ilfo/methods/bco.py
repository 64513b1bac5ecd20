"""Behaviour cloning from observation, BC-O(α) (Torabi, Warnell and Stone, 2018).

    repeat:
        collect  the policy acts; in the first 1/α iterations the untrained one does
        infer    an inverse model q(a|s, s') is fitted on all that was collected, and says
                 which actions the expert probably took
        clone    the policy is fitted to the expert's states and these actions

BC-O(0), which never acts with what it learned, is `explore` at least as large as the number of
iterations. The online budget is `total_timesteps`.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ilfo.agents.agent import Agent
from ilfo.agents.method import Method, Needs
from ilfo.agents.problem import Problem
from ilfo.agents.selection import Choice, real_mmd
from ilfo.agents.settings import Settings
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Passes
from ilfo.common.pytrees import all_finite, where
from ilfo.common.seeding import named_keys
from ilfo.common.types import (
    DemonstratedSteps,
    Expert,
    Log,
    Rollout,
    Transition,
    as_transitions,
)
from ilfo.common.validation import require_at_least, require_share
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.inverse import InverseDynamics, InverseState
from ilfo.methods.coverage import covered_share
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.cloning import Cloning
from ilfo.policies.mlp import MLPPolicy


class BCOSettings(Settings):
    """Hyper-parameters of BC-O."""

    inverse: InverseDynamics = InverseDynamics()
    """The model that infers actions."""
    cloning: Cloning = Cloning(plan=Passes(passes=20, batch_size=128))
    """How the policy is fitted to inferred actions, per iteration."""
    policy: MLPPolicy = MLPPolicy()
    """The policy's network."""
    chooser: AbstractDiscriminator = MMD()
    """Measures the distance to the demonstrations by which the policy to return is selected."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    explore: int = 5
    """1/α: iterations in which the untrained policy acts, before the learned one does."""
    buffer_horizons: int = 50
    """Transitions that the inverse model is fitted on, in horizons."""
    least_coverage: float = 0.8
    """Warn when a smaller share of the demonstrated states is covered by the interaction."""

    def __post_init__(self):
        require_at_least(self, 1, "streams", "explore", "buffer_horizons")
        require_share(self, "least_coverage")


class BCOState(eqx.Module):
    policy: AbstractPolicy
    """The one that acts next."""
    learned: AbstractPolicy
    optimiser: Any
    inverse: InverseState
    chooser: Any
    buffer: Buffer
    chosen: Choice
    coverage: Float[Array, ""]
    key: Array
    iteration: Int[Array, ""]


def init(
    settings: BCOSettings, problem: Problem, steps: DemonstratedSteps, *, key: Array
) -> BCOState:
    keys = named_keys(key, "policy", "inverse", "chooser", "run")
    dim, actions = problem.state_dim, problem.actions
    normaliser = steps.scales("before")
    policy = settings.policy.init(dim, actions, normaliser, key=keys["policy"])
    capacity = settings.buffer_horizons * problem.horizon
    return BCOState(
        policy=policy,
        learned=policy,
        optimiser=settings.cloning.init(policy),
        inverse=settings.inverse.init(dim, actions, key=keys["inverse"]),
        chooser=settings.chooser.at_rate(problem.every).init(steps, None, key=keys["chooser"]),
        buffer=Buffer.empty(Transition.zeros(dim, actions), capacity, 1, 1),
        chosen=Choice.none_yet(policy),
        coverage=jnp.zeros(()),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
    )


def improve(
    settings: BCOSettings, problem: Problem, state: BCOState, rollout: Rollout, expert: Expert
) -> tuple[BCOState, Log]:
    keys = named_keys(state.key, "inverse", "clone", "coverage", "next")
    mmd = real_mmd(settings.chooser, state.chooser, rollout, expert.mean_features)

    buffer = state.buffer.push(
        as_transitions(problem.actions, rollout), (rollout.elapsed == 0).ravel()
    )
    inverse, inverse_log = settings.inverse.fit(state.inverse, buffer, key=keys["inverse"])
    before, after = expert.steps.before, expert.steps.after
    inferred = jax.vmap(inverse.model.infer)(before, after)
    learned, optimiser, loss = settings.cloning.fit(
        state.learned,
        state.optimiser,
        (before, inferred),
        jnp.ones(before.shape[0], bool),
        key=keys["clone"],
    )

    # while the untrained policy acts, nothing was measured of the learned one: take the newest
    exploring = state.iteration < settings.explore
    newest = Choice.unmeasured(learned, state.iteration + 1)
    chosen = where(exploring, newest, state.chosen.or_better(state.policy, mmd, state.iteration))
    acting = where(state.iteration + 1 < settings.explore, state.policy, learned)
    coverage = covered_share(
        buffer.recent.items.state, buffer.recent.valid, before, key=keys["coverage"]
    )
    log = {
        "mmd": mmd,
        "loss": loss,
        "confidence": jax.vmap(inverse.model.confidence)(before, after).mean(),
        "coverage": coverage,
        "finite_dynamics": all_finite(inverse),
        "finite_policy": all_finite(learned),
    } | inverse_log
    return BCOState(
        acting,
        learned,
        optimiser,
        inverse,
        state.chooser,
        buffer,
        chosen,
        coverage,
        keys["next"],
        state.iteration + 1,
    ), log


def remarks(agent: Agent) -> list[str]:
    least = agent.settings.least_coverage
    shares = np.zeros(0) if agent.state is None else np.asarray(agent.state.coverage)
    return [
        f"seed {seed}: the interaction covers only {share:.0%} of the demonstrated states "
        f"(less than {least:.0%}); the actions inferred for the others are guesses: explore "
        "longer (explore, total_timesteps), or use a method that explores on purpose"
        for seed, share in zip(agent.seeds, shares, strict=False)
        if share < least
    ]


class BCO(Agent):
    """Infer the expert's actions from own experience, then clone:
    `BCO(environment, demonstrations).learn(30_000)`.
    """

    method = Method(
        name="bco",
        settings=BCOSettings,
        init=init,
        improve=improve,
        needs=Needs(states=True, steps=True),
        explores=lambda agent: agent.settings.explore,
        remarks=remarks,
        metrics=(
            "mmd",
            "mmd_floor",
            "loss",
            "inverse_loss",
            "inverse_accuracy",
            "confidence",
            "coverage",
        ),
        shown={
            "mmd": "MMD to expert",
            "mmd_floor": "floor",
            "inverse_accuracy": "inverse accuracy",
            "coverage": "coverage",
        },
    )
