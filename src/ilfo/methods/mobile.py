"""MobILE: model-based imitation learning and exploring (paper, Algorithm 2).

    repeat:
        collect       the policy acts in the real environment
        remember      the transitions go into a replay buffer of fixed size
        fit dynamics  an ensemble, and a termination model
        bonus         reward for going where the members disagree
        infer         actions that the expert may have taken                     (ours)
        K times:
            imagine       trajectories of the policy in the model
            discriminate  f_w tells imagined states from demonstrated ones
            plan          a step of TRPO on the cost (1 - λ)·clip(f_w) - λ·b

`collect` runs on the host; everything after it is `improve`, one compiled function. What happens K
times is `policy_step`, in a file of its own. What is ours and not the paper's can be turned off:
`inference=None` infers nothing, `floor=False` ignores the noise of the distance, `fall_back=False`
never goes back to an earlier policy, `paired=False` and `balanced=False` are the paper's starts and
weights.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ilfo.agents.acting import collect_rollout
from ilfo.agents.agent import Agent
from ilfo.agents.method import Method
from ilfo.agents.problem import Problem
from ilfo.agents.selection import Choice, Pooled
from ilfo.common.buffer import Buffer
from ilfo.common.pytrees import all_finite, filter_scan, where
from ilfo.common.seeding import named_keys
from ilfo.common.types import (
    DemonstratedSteps,
    Expert,
    Log,
    Normaliser,
    Rollout,
    as_transitions,
)
from ilfo.methods.inference import Inference, InferenceState
from ilfo.methods.inferring import infer
from ilfo.methods.measuring import exploring, measure, own_streams, real_excess
from ilfo.methods.mobile_settings import MobILESettings
from ilfo.methods.policy_step import Imagination, policy_step
from ilfo.planners.base import PlannerState
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import with_noise
from ilfo.rollouts.imagine import World, trusted_radius


class TrainState(eqx.Module):
    """What is carried from one iteration to the next."""

    planner: PlannerState
    dynamics: Any
    termination: Any
    discriminator: Any
    buffer: Buffer
    chosen: Choice
    key: Array
    iteration: Int[Array, ""]
    inference: InferenceState | None = None
    pools: tuple[Pooled, ...] = ()
    """Features of the policies that acted, and of the clones; empty if neither the noise floor nor
    inference needs them."""
    kept: Pooled | None = None
    """Those of the chosen policy, if there are pools."""

    @property
    def policy(self) -> AbstractPolicy:
        return self.planner.policy


def init(
    settings: MobILESettings,
    problem: Problem,
    steps: DemonstratedSteps,
    *,
    key: Array,
) -> TrainState:
    """A fresh train state for one seed; `steps` is a sample of the demonstrated steps."""
    settings = settings.for_problem(problem)
    parts = ("policy", "planner", "dynamics", "termination", "discriminator", "run", "inference")
    keys = named_keys(key, *parts)
    dim, actions = problem.state_dim, problem.actions
    normaliser = Normaliser.identity(dim)
    if problem.feature_map is None:
        normaliser = steps.scales()
    policy = settings.policy.init(dim, actions, normaliser, key=keys["policy"])
    discriminator = settings.discriminator.init(
        steps, problem.feature_map, key=keys["discriminator"]
    )
    inference: InferenceState | None = None
    pools: tuple[Pooled, ...] = ()
    if settings.floor or settings.inference is not None:
        size = discriminator.demonstrated(steps.before[0], steps.after[0]).size
        pools = (Pooled.of_none(size),)
    if settings.inference is not None:
        if settings.inference.varies_noise(policy):
            policy = with_noise(policy, 1.0)
        inference = settings.inference.init(
            policy, dim, actions, problem.every, key=keys["inference"]
        )
        pools = 2 * pools
    return TrainState(
        planner=settings.planner.init(policy, dim, normaliser, key=keys["planner"]),
        dynamics=settings.dynamics.init(dim, actions, key=keys["dynamics"]),
        termination=settings.termination.init(dim, key=keys["termination"]),
        discriminator=discriminator,
        buffer=settings.empty_buffer(problem),
        chosen=Choice.none_yet(policy),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
        inference=inference,
        pools=pools,
        kept=pools[0] if pools else None,
    )


def improve(
    settings: MobILESettings, problem: Problem, state: TrainState, rollout: Rollout, expert: Expert
) -> tuple[TrainState, Log]:
    """One iteration of Algorithm 2, after `state.policy` has collected `rollout`."""
    settings = settings.for_problem(problem)
    keys = named_keys(state.key, "dynamics", "termination", "plan", "next", "inference")
    state, log = measure(settings, problem, state, rollout, expert)

    transitions = as_transitions(problem.actions, rollout)
    buffer = state.buffer.push(transitions, (rollout.elapsed == 0).ravel())
    newest = buffer.newest()  # near where the policy goes now
    dynamics, model_log = settings.dynamics.fit(
        state.dynamics, transitions, newest, key=keys["dynamics"]
    )
    termination, ending_log = settings.termination.fit(
        state.termination, newest, key=keys["termination"]
    )
    bonus = settings.bonus.fit(dynamics.model, newest)
    planner = adapt_scales(problem, state, buffer)
    scales = planner.normaliser
    radius = trusted_radius(scales, newest, expert, settings.runaway)
    world = World(dynamics.model, termination.rule, bonus, scales, radius)
    state = eqx.tree_at(
        lambda s: (s.planner, s.dynamics, s.termination, s.buffer),
        state,
        (planner, dynamics, termination, buffer),
    )
    state, inferred, infer_log = infer(
        settings, problem, state, expert, world, log, key=keys["inference"]
    )

    excess = real_excess(settings, problem, state, expert) if settings.floor else None
    imagination = Imagination(world, buffer, expert, inferred, excess)
    steps = (
        jnp.arange(settings.policy_steps),
        jax.random.split(keys["plan"], settings.policy_steps),
    )
    (planner, discriminator), plan_log = filter_scan(
        functools.partial(policy_step, settings, problem, imagination),
        (state.planner, state.discriminator),
        steps,
    )
    log |= model_log | ending_log | infer_log | jax.tree.map(jnp.mean, plan_log)
    log |= {"bonus_limit": bonus.limit, "imagined_mmd": plan_log["imagined_mmd"][-1]}
    log |= {
        "finite_dynamics": all_finite(dynamics.model),
        "finite_termination": all_finite(termination),
        "finite_discriminator": all_finite(discriminator),
        "finite_planner": all_finite(planner),
    }
    return eqx.tree_at(
        lambda s: (s.planner, s.discriminator, s.key, s.iteration),
        state,
        (planner, discriminator, keys["next"], state.iteration + 1),
    ), log


def adapt_scales(problem: Problem, state: TrainState, buffer: Buffer) -> PlannerState:
    """If the demonstrations hold features, the first rollout sets the scales of the networks."""
    if problem.feature_map is None:
        return state.planner
    fitted = Normaliser.fit(buffer.recent.items.state, buffer.weight)
    return where(state.iteration == 0, state.planner.rescaled(fitted), state.planner)


def interact(agent: Agent) -> Rollout:
    """A rollout in which policy and clone share the streams of each seed."""
    settings, state = agent.settings.for_problem(agent.problem), agent.state
    if settings.inference is None:
        return collect_rollout(agent)
    if exploring(settings, agent.problem, agent.iteration):
        return collect_rollout(agent, [(state.inference.explorer, settings.streams)])
    own = own_streams(settings)
    sharing = [(state.policy, own), (state.inference.acting_by_seed, settings.streams - own)]
    return collect_rollout(agent, sharing)


def explores(agent: Agent) -> int:
    """Iterations in which the untrained policy acts, as `exploring` says."""
    inference = agent.settings.for_problem(agent.problem).inference
    return 0 if inference is None else -(-inference.explore // agent.samples_per_iteration)


def check(agent: Agent) -> None:
    if agent.problem.feature_map is None:
        agent.settings.dynamics.check_states(next(iter(agent.demonstrations)).states)


def remarks(agent: Agent) -> list[str]:
    """What the user should know about the result."""
    if agent.settings.inference is None or agent.problem.feature_map is None:
        return []
    return [
        "the demonstrations hold only a part or a feature of the states, so no actions were "
        "inferred: learning by distances alone takes more environment steps"
    ]


class MobILE(Agent):
    """Learn a policy from observations alone: `MobILE(environment, demonstrations).learn(30_000)`.

    See `ilfo.agents.Agent` for the arguments and for what an agent can do.
    """

    method = Method(
        name="mobile",
        settings=MobILESettings,
        parts=(Inference,),
        init=init,
        improve=improve,
        discriminator="discriminator",
        explores=explores,
        check=check,
        interact=interact,
        remarks=remarks,
        metrics=(
            "mmd",
            "mmd_floor",
            "fell_back",
            "clone_mmd",
            "trust",
            "held",
            "pull",
            "clone_starts",
            "acting_noise",
            "imagined_mmd",
            "reach",
            "model_loss",
            "model_noise",
            "termination_loss",
            "bonus",
            "bonus_share",
            "cost",
            "kl",
            "accepted",
            "entropy",
            "critic_loss",
            "imagined_length",
            "runaway_share",
        ),
        shown={
            "mmd": "MMD to expert",
            "mmd_floor": "floor",
            "model_loss": "model loss",
            "bonus": "bonus",
            "kl": "KL",
        },
    )
