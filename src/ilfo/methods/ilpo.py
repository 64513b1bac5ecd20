"""Imitating latent policies from observation, ILPO (Edwards, Sahni, Schroecker and Isbell, 2019).

    once:    explain  latent actions z, their effects g(s, z) and a policy π(z|s) over them are
                      fitted to the demonstrations
    repeat:  collect  the agent acts: the likeliest z, then an action from π(a|s, z)
             remap    each own step is explained by the z whose effect is nearest to what happened,
                      and π(a|s, z) is fitted to the action that was taken

Only discrete actions can be remapped; `Discretise` makes a Box of actions discrete.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ilfo.agents.agent import Agent
from ilfo.agents.method import Method, Needs
from ilfo.agents.problem import Problem
from ilfo.agents.selection import Choice, real_mmd
from ilfo.agents.settings import Settings
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Passes
from ilfo.common.pytrees import all_finite, filter_cond
from ilfo.common.seeding import named_keys
from ilfo.common.spaces import DiscreteActions
from ilfo.common.types import (
    DemonstratedSteps,
    Expert,
    Log,
    Normaliser,
    Rollout,
    Transition,
    as_transitions,
)
from ilfo.common.validation import require_at_least
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.latent import LatentDynamics, LatentState
from ilfo.policies.cloning import Cloning
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import CategoricalMLP, MLPPolicy


class ILPOSettings(Settings):
    """Hyper-parameters of ILPO."""

    latent: LatentDynamics = LatentDynamics()
    """The latent actions that explain the demonstrations."""
    policy: MLPPolicy = MLPPolicy()
    """The remapping network."""
    cloning: Cloning = Cloning(plan=Passes(passes=10, batch_size=128))
    """How the remapping is fitted, per iteration."""
    chooser: AbstractDiscriminator = MMD()
    """Measures the distance to the demonstrations by which the policy to return is selected."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    buffer_horizons: int = 20
    """Transitions that the remapping is fitted on, in horizons."""

    def __post_init__(self):
        require_at_least(self, 1, "streams", "buffer_horizons")


class ILPOState(eqx.Module):
    policy: LatentPolicy
    optimiser: Any
    latent: LatentState
    chooser: Any
    buffer: Buffer
    chosen: Choice
    key: Array
    iteration: Int[Array, ""]


def init(
    settings: ILPOSettings, problem: Problem, steps: DemonstratedSteps, *, key: Array
) -> ILPOState:
    keys = named_keys(key, "latent", "remap", "chooser", "run")
    dim, actions = problem.state_dim, problem.actions
    assert isinstance(actions, DiscreteActions)
    latent = settings.latent.init(steps.pairs, actions, key=keys["latent"])
    count = settings.latent.count(actions)
    states = latent.model.policy.normaliser
    scales = Normaliser(
        jnp.concatenate([states.shift, jnp.zeros(count)]),
        jnp.concatenate([states.scale, jnp.ones(count)]),
    )
    remap = settings.policy.init(dim + count, actions, scales, key=keys["remap"])
    assert isinstance(remap, CategoricalMLP)
    policy = LatentPolicy(latent.model.policy, remap)
    capacity = settings.buffer_horizons * problem.horizon
    return ILPOState(
        policy=policy,
        optimiser=settings.cloning.init(remap),
        latent=latent,
        chooser=settings.chooser.at_rate(problem.every).init(steps, None, key=keys["chooser"]),
        buffer=Buffer.empty(Transition.zeros(dim, actions), capacity, 1, 1),
        chosen=Choice.none_yet(policy),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
    )


def improve(
    settings: ILPOSettings,
    problem: Problem,
    state: ILPOState,
    rollout: Rollout,
    expert: Expert,
) -> tuple[ILPOState, Log]:
    keys = named_keys(state.key, "latent", "remap", "next")
    mmd = real_mmd(settings.chooser, state.chooser, rollout, expert.mean_features)
    chosen = state.chosen.or_better(state.policy, mmd, state.iteration)

    latent = filter_cond(
        state.iteration == 0,
        lambda latent: settings.latent.fit(latent, expert.steps.pairs, key=keys["latent"])[0],
        state.latent,
    )
    buffer = state.buffer.push(
        as_transitions(problem.actions, rollout), (rollout.elapsed == 0).ravel()
    )
    seen, valid = buffer.recent.items, buffer.recent.valid
    causes = jax.vmap(latent.model.explain)(seen.state, seen.next_state)
    inputs = jnp.concatenate([seen.state, jax.nn.one_hot(causes, latent.model.count)], -1)
    remap, optimiser, loss = settings.cloning.fit(
        state.policy.remap, state.optimiser, (inputs, seen.action), valid, key=keys["remap"]
    )
    remapped = jax.vmap(lambda x: remap.distribution(x).mode())(inputs)
    used = jax.vmap(lambda z: (valid & (causes == z)).any())(jnp.arange(latent.model.count))
    log = {
        "mmd": mmd,
        "latent_loss": settings.latent.loss(latent, expert.steps.pairs),
        "loss": loss,
        "remap_accuracy": (valid & (remapped == seen.action)).sum() / valid.sum(),
        "latents_used": used.sum(),
        "finite_dynamics": all_finite(latent),
        "finite_policy": all_finite(remap),
    }
    return ILPOState(
        LatentPolicy(latent.model.policy, remap),
        optimiser,
        latent,
        state.chooser,
        buffer,
        chosen,
        keys["next"],
        state.iteration + 1,
    ), log


class ILPO(Agent):
    """Explain the demonstrations by latent actions, learn what they stand for:
    `ILPO(environment, demonstrations).learn(20_000)`.
    """

    method = Method(
        name="ilpo",
        settings=ILPOSettings,
        init=init,
        improve=improve,
        budgets=4,
        needs=Needs(discrete=True, states=True, steps=True),
        metrics=("mmd", "mmd_floor", "latent_loss", "loss", "remap_accuracy", "latents_used"),
        shown={
            "mmd": "MMD to expert",
            "mmd_floor": "floor",
            "remap_accuracy": "remapping accuracy",
        },
    )
