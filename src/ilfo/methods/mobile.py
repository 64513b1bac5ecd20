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
and not the paper's is off unless the settings turn it on, as the preset `anywhere` does:
`inference=None` infers nothing, `floor=False` ignores the noise of the distance.
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
from ilfo.agents.selection import Average, Choice, Pooled, real_mmd
from ilfo.common.buffer import Buffer
from ilfo.common.pytrees import all_finite, filter_scan, where
from ilfo.common.seeding import named_keys
from ilfo.common.types import (
    DemonstratedSteps,
    Expert,
    Log,
    Normaliser,
    Rollout,
    Transition,
    as_transitions,
)
from ilfo.common.validation import require_at_least, require_share
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.mmd import MMD
from ilfo.discriminators.occupancy import by_age
from ilfo.dynamics.base import AbstractDynamics
from ilfo.dynamics.bonus import AbstractBonus, BufferNormalised
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.termination import AbstractTermination, LearnedTermination
from ilfo.methods.inference import Inference, InferenceState, Inferred, explained, verdict
from ilfo.planners.base import AbstractPlanner, PlannerState
from ilfo.planners.critic import Batch
from ilfo.planners.trpo import TRPO
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.imagine import World, draw_starts, trusted_radius

ENDINGS, RESETS = 500, 500
"""Terminal transitions and reset states that the buffer keeps beside recent transitions."""
IMAGINED_STEPS, FEWEST_STREAMS, MOST_STREAMS, FEWEST_HORIZONS = 6_400, 16, 128, 32
"""Sizes that follow from the horizon where the settings leave them open."""
KEEP = 0.5
"""How much the features of an iteration count in the pool, relative to those of the next."""
LEAST_REACH = 1e-3
"""Costs at the noise floor count for this much."""


class TrainState(eqx.Module):
    """What is carried from one iteration to the next."""

    planner: PlannerState
    dynamics: Any
    termination: Any
    discriminator: Any
    buffer: Buffer
    average: Average
    chosen: Choice
    key: Array
    iteration: Int[Array, ""]
    inference: InferenceState | None = None
    pools: tuple[Pooled, ...] = ()
    """Features of the policies that acted, and of the clones; empty without the noise floor."""

    @property
    def policy(self) -> AbstractPolicy:
        return self.planner.policy


class MobILESettings(eqx.Module):
    """Hyper-parameters of MobILE; each part is configured by constructing it."""

    dynamics: AbstractDynamics = EnsembleDynamics()
    """The model P̂ and its uncertainty."""
    termination: AbstractTermination = LearnedTermination()
    """What ends an imagined episode."""
    bonus: AbstractBonus = BufferNormalised()
    """Reward for uncertainty."""
    discriminator: AbstractDiscriminator = MMD()
    """Discriminator between the learner's and the expert's states."""
    planner: AbstractPlanner = TRPO()
    """How the policy is improved inside the model."""
    policy: MLPPolicy = MLPPolicy()
    """The policy's network."""
    inference: Inference | None = None
    """Actions inferred for the demonstrated steps, and their uses; None infers nothing. It is off
    where demonstrations hold a feature h(s) of the state."""
    floor: bool = False
    """Heed the noise floor, which is the expert's own distance from itself: costs count for as much
    as the distance exceeds it, and the policy to return is the newest of those that it cannot tell
    apart."""
    weight: float = 0.1
    """λ: weight of the exploration bonus in the cost; 0 turns it off."""
    policy_steps: int = 10
    """K: policy steps per iteration."""
    refit: bool = True
    """Fit the discriminator at every policy step; otherwise once per iteration."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    imagined_streams: int | None = 16
    """Imagined trajectories per policy step, each of one horizon; None for as many as have about
    6,400 steps, at least 16 and at most 128."""
    expert_starts: float = 0.2
    """Share of imagined trajectories that begin in a demonstrated state instead of a reset one."""
    buffer_horizons: int | None = 10
    """Replay buffer size, in horizons; None for 6,400 transitions, at least 32 horizons."""
    runaway: float = 2.0
    """An imagined trajectory has run away when the normalised norm of its state exceeds this
    multiple of the largest one demonstrated or visited."""
    averaging: float | None = None
    """If set, the policy to return is selected from running means of the policies' weights. This is
    the weight of the newest policy. Until there are 1/averaging of them, all count the same; with 0
    they always do. None selects from single policies."""

    def __post_init__(self):
        require_at_least(self, 1, "policy_steps", "streams", "runaway")
        for name in ("imagined_streams", "buffer_horizons"):
            if getattr(self, name) is not None:
                require_at_least(self, 1, name)
        require_share(self, "weight", "expert_starts")
        if self.averaging is not None:
            require_share(self, "averaging")
            if self.floor:
                raise ValueError(
                    "averaging selects from means of policies and floor from policies that cannot "
                    "be told apart; use one of them: floor=False, or averaging=None"
                )
        if self.inference is not None and not (self.floor and self.streams > 1):
            raise ValueError(
                "inference needs the noise floor and a second stream for the clone to act in; use "
                "floor=True and streams=2, or inference=None"
            )
        self.bonus.check(self.dynamics)

    def for_problem(self, problem: Problem) -> "MobILESettings":
        """The settings with what follows from the environment filled in."""
        horizon, streams, size = problem.horizon, self.imagined_streams, self.buffer_horizons
        if streams is None:
            streams = min(max(IMAGINED_STEPS // horizon, FEWEST_STREAMS), MOST_STREAMS)
        if size is None:
            size = max(IMAGINED_STEPS // horizon, FEWEST_HORIZONS)
        return replace(
            self,
            imagined_streams=streams,
            buffer_horizons=size,
            planner=self.planner.for_horizon(horizon),
            inference=None if problem.feature_map is not None else self.inference,
        )


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
        normaliser = Normaliser.fit(steps.after, steps.weight)
    policy = settings.policy.init(dim, actions, normaliser, key=keys["policy"])
    capacity = (settings.buffer_horizons or 0) * problem.horizon
    discriminator = settings.discriminator.init(
        steps, problem.feature_map, key=keys["discriminator"]
    )
    inference: InferenceState | None = None
    pools: tuple[Pooled, ...] = ()
    if settings.floor:
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
        buffer=Buffer.empty(Transition.zeros(dim, actions), capacity, ENDINGS, RESETS),
        average=Average.of_none(policy),
        chosen=Choice.none_yet(policy),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
        inference=inference,
        pools=pools,
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
    dynamics, model_log = settings.dynamics.fit(
        state.dynamics, transitions, buffer, key=keys["dynamics"]
    )
    termination, ending_log = settings.termination.fit(
        state.termination, buffer, key=keys["termination"]
    )
    bonus = settings.bonus.fit(dynamics.model, buffer)
    planner = adapt_scales(problem, state, buffer)
    scales = planner.critic.critic.normaliser
    radius = trusted_radius(scales, buffer, expert, settings.runaway)
    world = World(dynamics.model, termination.rule, bonus, scales, radius)
    state = eqx.tree_at(
        lambda s: (s.planner, s.dynamics, s.termination, s.buffer),
        state,
        (planner, dynamics, termination, buffer),
    )
    state, inferred, infer_log = infer(settings, problem, state, expert, log, key=keys["inference"])

    imagination = Imagination(world, buffer, expert, inferred, log.get("excess"))
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


def exploring(settings: MobILESettings, problem: Problem, iteration: Any) -> Bool[Array, ""]:
    """Whether the untrained policy acted in that iteration, or acts in it."""
    if settings.inference is None:
        return jnp.zeros((), bool)
    return iteration * settings.streams * problem.horizon < settings.inference.explore


def measure(
    settings: MobILESettings, problem: Problem, state: TrainState, rollout: Rollout, expert: Expert
) -> tuple[TrainState, Log]:
    """The real distance of what acted, and the selection of the policy to return."""
    spec, fitted = settings.discriminator, state.discriminator
    if not settings.floor:
        mmd = real_mmd(spec, fitted, rollout, expert.mean_features)
        share = 1.0 if settings.averaging is None else settings.averaging
        average = state.average.joined_by(state.policy, mmd, share)
        chosen = state.chosen.or_better(average.policy, average.value, state.iteration)
        return eqx.tree_at(lambda s: (s.average, s.chosen), state, (average, chosen)), {"mmd": mmd}

    psi = jax.vmap(jax.vmap(fitted.features))(rollout.state, rollout.next_state)

    def pool(before: Pooled, part: slice) -> Pooled:
        streams = jax.tree.map(lambda x: x[part], rollout)
        totals = spec.total_features(psi[part], streams, by_age(streams))
        return before.joined_by(*totals, streams.valid.shape[0], KEEP)

    own = own_streams(settings)
    pools = tuple(map(pool, state.pools, (slice(own), slice(own, None))))
    distances = [fitted.distance(pooled.mean, expert.mean_features) for pooled in pools]
    mmd, floor = distances[0], expert.floor(pools[0].episodes)
    log = {"mmd": mmd, "mmd_floor": floor, "excess": jnp.maximum(mmd**2 - floor**2, 0)}
    offer = lambda choice, policy, value: choice.or_tied(policy, value, state.iteration, floor)
    chosen = offer(state.chosen, state.policy, mmd)
    if state.inference is not None:
        clone, clone_mmd = state.inference.clone, distances[1]
        # a tie goes to what is offered last, so that is the nearer one
        policy_last = offer(offer(state.chosen, clone, clone_mmd), state.policy, mmd)
        chosen = where(clone_mmd < mmd, offer(chosen, clone, clone_mmd), policy_last)
        # what the untrained policy did says nothing of these two
        untrained = exploring(settings, problem, state.iteration)
        chosen, pools = where(untrained, (state.chosen, state.pools), (chosen, pools))
        log |= {"clone_mmd": clone_mmd, "excess": jnp.where(untrained, jnp.inf, log["excess"])}
    return eqx.tree_at(lambda s: (s.chosen, s.pools), state, (chosen, pools)), log


def own_streams(settings: MobILESettings) -> int:
    """Streams that the planner's policy acts in; a clone has the others."""
    return settings.streams if settings.inference is None else (settings.streams + 1) // 2


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
    inference, actions, log = spec.fit(state.inference, state.buffer, expert.steps, key=key)
    trust = explained(state.dynamics.model, state.buffer, expert.steps, actions)
    untrained = exploring(settings, problem, state.iteration)
    judged = verdict(pooled, real["mmd"], clone_pooled, real["clone_mmd"], expert.floor)
    belief = jnp.where(untrained, 1.0, judged.belief)
    starts = (untrained | ~judged.worse) & spec.start
    # nothing that could be returned has acted yet: take the newest
    newest = Choice(inference.clone, jnp.array(jnp.inf, jnp.float32), state.iteration + 1)
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
    strength = spec.pull * belief
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
    starts, from_reset = draw_starts(
        buffer, expert, settings.imagined_streams, settings.expert_starts, key=start_key
    )
    rollout = world.imagine(
        planner.policy, problem.actions, starts, problem.horizon, key=imagine_key
    )
    bonuses = world.bonuses(problem.actions, rollout)
    refit = settings.refit | (step == 0)
    discriminator, batch, log = judge(
        settings, expert, discriminator, rollout, bonuses, from_reset, refit
    )
    if excess is not None:
        reach = signal(expert, log["imagined_mmd"], from_reset.sum(), excess, inferred is not None)
        batch, log = replace(batch, reach=reach), log | {"reach": reach}
    if inferred is not None:
        batch = replace(batch, pull=inferred.draw(expert.steps, key=pull_key))
    planner, planner_log = settings.planner.update(planner, batch, key=update_key)
    return (planner, discriminator), log | planner_log


def signal(
    expert: Expert,
    imagined_mmd: Float[Array, ""],
    trajectories: Int[Array, ""],
    excess: Float[Array, ""],
    real_counts: bool,
) -> Float[Array, ""]:
    """The share of the squared imagined distance that is not noise; where something else is there
    to follow, also not more than the real distance exceeds the floor."""
    squared = jnp.maximum(imagined_mmd**2, 1e-12)
    share = 1 - expert.floor(trajectories) ** 2 / squared
    if real_counts:
        share = jnp.minimum(share, excess / squared)
    return jnp.clip(share, LEAST_REACH, 1.0)


def judge(
    settings: MobILESettings,
    expert: Expert,
    discriminator: Any,
    rollout: Rollout,
    bonuses: Float[Array, "N T"],
    from_reset: Bool[Array, " N"],
    refit: Bool[Array, ""],
) -> tuple[Any, Batch, Log]:
    """Fit f_w to tell imagined states from demonstrated ones, and compute the cost of every step,
    (1 - λ)·clip(f_w) - λ·b.

    f_w is fitted on trajectories that began in a reset state: only they show where the policy goes.
    """
    spec, share = settings.discriminator, settings.weight
    features = jax.vmap(jax.vmap(discriminator.features))(rollout.state, rollout.next_state)
    own = jax.tree.map(
        lambda x: x & from_reset[:, None],
        {"valid": rollout.valid, "terminal": rollout.terminal, "runaway": rollout.runaway},
    )
    own_rollout = rollout._replace(**own)
    total, time = spec.total_features(features, own_rollout, by_age(own_rollout))
    mean = total / jnp.maximum(time, 1.0)
    discriminator = where(refit, spec.fit(discriminator, mean, expert.mean_features), discriminator)

    cost = (1 - share) * spec.cost(discriminator, features) - share * bonuses
    after_terminal, after_runaway = spec.ending_costs(discriminator)
    batch = Batch(rollout, cost, (1 - share) * after_terminal, (1 - share) * after_runaway)
    seen = lambda x: jnp.where(rollout.valid, x, 0).sum() / jnp.maximum(rollout.valid.sum(), 1)
    log = {
        "imagined_mmd": discriminator.distance(mean, expert.mean_features),
        "cost": seen(cost),
        "bonus": seen(bonuses),
        "imagined_length": rollout.valid.sum() / rollout.valid.shape[0],
        "runaway_share": rollout.runaway.any(1).mean(),
    }
    return discriminator, batch, log


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


def check(agent: Agent) -> None:
    if agent.problem.feature_map is None:
        agent.settings.dynamics.check_states(next(iter(agent.demonstrations)).states)


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
        check=check,
        interact=interact,
        metrics=(
            "mmd",
            "mmd_floor",
            "clone_mmd",
            "trust",
            "pull",
            "clone_starts",
            "imagined_mmd",
            "reach",
            "model_loss",
            "termination_loss",
            "bonus",
            "cost",
            "kl",
            "accepted",
            "entropy",
            "critic_loss",
            "imagined_length",
            "runaway_share",
        ),
        shown={"mmd": "MMD to expert", "model_loss": "model loss", "bonus": "bonus", "kl": "KL"},
    )
