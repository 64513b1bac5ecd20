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

`collect` runs on the host; everything after it is `improve`, one compiled function. What is ours
and not the paper's can be turned off: `inference=None` infers nothing, `floor=False` ignores the
noise of the distance, `fall_back=False` never goes back to an earlier policy, `paired=False` and
`balanced=False` are the paper's starts and weights.
"""

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

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
from ilfo.discriminators.occupancy import by_age
from ilfo.methods.inference import Inference, InferenceState, Inferred, explained, verdict
from ilfo.methods.measuring import exploring, measure, own_streams, real_excess, signal
from ilfo.methods.mobile_settings import MobILESettings
from ilfo.planners.base import PlannerState
from ilfo.planners.critic import Batch
from ilfo.policies.base import AbstractPolicy
from ilfo.rollouts.imagine import World, draw_branches, draw_starts, trusted_radius

LEAST_SPREAD = 0.1
"""A bonus that varies less than this is not made to vary as much as the cost."""


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
        inference = settings.inference.init(policy, dim, actions, key=keys["inference"])
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
    state, inferred, infer_log = infer(settings, problem, state, expert, log, key=keys["inference"])

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


def infer(
    settings: MobILESettings,
    problem: Problem,
    state: TrainState,
    expert: Expert,
    real: Log,
    *,
    key: Array,
) -> tuple[TrainState, Inferred | None, Log]:
    """Infer the expert's actions; where the clone is not worse, the planner starts from it."""
    if settings.inference is None:
        return state, None, {}
    assert state.inference is not None
    spec, (pooled, clone_pooled) = settings.inference, state.pools
    sparse = problem.every > 1
    seen = state.buffer.spans(problem.every) if sparse else state.buffer
    inference, actions, log = spec.fit(state.inference, seen, expert.steps, key=key)
    trust = jnp.ones(expert.steps.before.shape[0])
    if spec.witness and not sparse:  # the model explains one step
        trust = explained(state.dynamics.model, state.buffer, expert.steps, actions)
    untrained = exploring(settings, problem, state.iteration)
    untrained_mmd = jnp.where(untrained, real["mmd"], inference.untrained)
    mmd = state.discriminator.distance(pooled.mean, expert.mean_features)
    judged = verdict(pooled, mmd, clone_pooled, real["clone_mmd"], expert.floor, untrained_mmd)
    starts, belief = spec.decide(inference.belief, judged, untrained)
    inference = replace(inference, belief=belief, untrained=untrained_mmd)
    strength = spec.pull * belief
    # nothing that could be returned has acted yet: take the newest
    newest = Choice.unmeasured(inference.clone, state.iteration + 1)
    state = eqx.tree_at(
        lambda s: (s.planner.policy, s.pools, s.chosen, s.inference),
        state,
        (
            where(starts, inference.clone, state.policy),
            (where(starts, clone_pooled, pooled), clone_pooled),
            where(untrained, newest, state.chosen),
            inference,
        ),
    )
    log |= {"trust": trust.mean(), "pull": strength, "clone_starts": starts.astype(jnp.float32)}
    inferred = Inferred(actions, strength * trust) if spec.pull else None
    return state, inferred, log


class Imagination(NamedTuple):
    """What stays the same during the K policy steps of an iteration."""

    world: World
    """The learned model, its termination and the bonus."""
    buffer: Buffer
    """Where imagined trajectories begin, beside demonstrated states."""
    expert: Expert
    inferred: Inferred | None
    excess: Float[Array, ""] | None
    """How far the squared real distance exceeds the squared noise floor; None to ignore both."""


def policy_step(
    settings: MobILESettings,
    problem: Problem,
    imagination: Imagination,
    carry: tuple[PlannerState, Any],
    now: tuple[Int[Array, ""], Array],
) -> tuple[tuple[PlannerState, Any], Log]:
    """One of the K policy steps: imagine, discriminate, improve."""
    (planner, discriminator), (step, key) = carry, now
    start_key, imagine_key, update_key, pull_key = jax.random.split(key, 4)
    world, buffer, expert, inferred, excess = imagination
    assert settings.imagined_streams is not None
    starts, judged = draw_starts(
        buffer,
        expert,
        settings.imagined_streams,
        settings.expert_starts,
        settings.paired,
        key=start_key,
    )
    rollout = world.imagine(
        planner.policy, problem.actions, starts, problem.horizon, key=imagine_key
    )
    bonuses = world.bonuses(problem.actions, rollout)
    refit = settings.refit | (step == 0)
    discriminator, batch, log = judge(
        settings, expert, discriminator, rollout, bonuses, judged, refit
    )
    if settings.planner.branch_length is not None:
        batch = branch(settings, problem, imagination, planner.policy, discriminator, key=key)
    if excess is not None:
        infers = settings.inference is not None
        reach = signal(expert, log["imagined_mmd"], judged.sum(), excess, infers)
        batch, log = replace(batch, reach=reach), log | {"reach": reach}
    if inferred is not None:
        batch = replace(batch, pull=inferred.draw(expert.steps, key=pull_key))
    planner, planner_log = settings.planner.update(planner, batch, key=update_key)
    return (planner, discriminator), log | planner_log


def judge(
    settings: MobILESettings,
    expert: Expert,
    discriminator: Any,
    rollout: Rollout,
    bonuses: Float[Array, "N T"],
    judged: Bool[Array, " N"],
    refit: Bool[Array, ""],
) -> tuple[Any, Batch, Log]:
    """Fit f_w to tell imagined states from demonstrated ones, and compute the cost of every step.

    f_w is fitted on the trajectories that are `judged`: the others began in the midst of a
    demonstration and do not show where the policy goes.
    """
    spec = settings.discriminator
    features = jax.vmap(jax.vmap(discriminator.features))(rollout.state, rollout.next_state)
    own = jax.tree.map(
        lambda x: x & judged[:, None],
        {"valid": rollout.valid, "terminal": rollout.terminal, "runaway": rollout.runaway},
    )
    own_rollout = rollout._replace(**own)
    total, time = spec.total_features(features, own_rollout, by_age(own_rollout))
    mean = total / jnp.maximum(time, 1.0)
    discriminator = where(refit, spec.fit(discriminator, mean, expert.mean_features), discriminator)

    batch = price(settings, discriminator, features, rollout, bonuses)
    seen = functools.partial(valid_mean, rollout)
    log = {
        "imagined_mmd": discriminator.distance(mean, expert.mean_features),
        "cost": seen(batch.cost),
        "bonus": seen(bonuses),
        "imagined_length": rollout.valid.sum() / rollout.valid.shape[0],
        "runaway_share": rollout.runaway.any(1).mean(),
    }
    return discriminator, batch, log


def price(
    settings: MobILESettings,
    discriminator: Any,
    features: Float[Array, "N T D"],
    rollout: Rollout,
    bonuses: Float[Array, "N T"],
) -> Batch:
    """The cost of every step, (1 - λ)·clip(f_w) - λ·b, with b in the units of f_w if `balanced`."""
    spec, share = settings.discriminator, settings.weight
    seen = functools.partial(valid_mean, rollout)
    spread = lambda x: jnp.sqrt(seen((x - seen(x)) ** 2))
    away, reward = spec.cost(discriminator, features), share * bonuses
    if settings.balanced:
        reward = reward * spread(away) / jnp.maximum(spread(bonuses), LEAST_SPREAD)
    cost = (1 - share) * away - reward
    after_terminal, after_runaway = spec.ending_costs(discriminator)
    return Batch(
        rollout, cost, (1 - share) * after_terminal, (1 - share) * after_runaway, bonus=reward
    )


def valid_mean(rollout: Rollout, x: Float[Array, "N T"]) -> Float[Array, ""]:
    """Mean over the valid steps."""
    return jnp.where(rollout.valid, x, 0).sum() / jnp.maximum(rollout.valid.sum(), 1)


def branch(
    settings: MobILESettings,
    problem: Problem,
    imagination: Imagination,
    policy: AbstractPolicy,
    discriminator: Any,
    *,
    key: Array,
) -> Batch:
    """Short trajectories from anywhere, for a planner that asks for them; as many steps as those
    of a whole horizon have."""
    length, streams = settings.planner.branch_length, settings.imagined_streams
    assert length is not None
    assert streams is not None
    start_key, imagine_key = jax.random.split(jax.random.fold_in(key, 1))
    world, buffer, expert = imagination.world, imagination.buffer, imagination.expert
    count = max(streams * problem.horizon // length, 1)
    starts = draw_branches(buffer, expert, count, settings.expert_starts, key=start_key)
    rollout = world.imagine(policy, problem.actions, starts, length, key=imagine_key)
    features = jax.vmap(jax.vmap(discriminator.features))(rollout.state, rollout.next_state)
    bonuses = world.bonuses(problem.actions, rollout)
    return price(settings, discriminator, features, rollout, bonuses)


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
    sharing = [(state.policy, own), (state.inference.clone, settings.streams - own)]
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
            "pull",
            "clone_starts",
            "imagined_mmd",
            "reach",
            "model_loss",
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
