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
noise of the distance, `paired=False` and `balanced=False` are the paper's starts and weights.
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
from ilfo.agents.selection import Choice, Pooled, real_mmd
from ilfo.agents.settings import Settings
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Adam, Passes
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
from ilfo.planners.critic import Batch, GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import MLPPolicy, with_bound
from ilfo.rollouts.imagine import World, draw_starts, trusted_radius

ENDINGS, RESETS = 500, 500
"""Terminal transitions and reset states that the buffer keeps beside recent transitions."""
IMAGINED_STEPS, FEWEST_STREAMS, MOST_STREAMS = 6_400, 16, 128
PASS_STEPS, PASS_HORIZONS, KEPT_PASSES = 6_400, 32, 3
"""Sizes that follow from the horizon where the settings leave them open: of imagination, of the
passes of a fit, and of the replay buffer, which holds several of those."""
MOST_NUMBERS = 2**22
"""Numbers in the states of a pass, and in those imagined; above 327 dimensions there are fewer
steps, but not fewer than the least numbers of horizons and streams."""
KEEP = 0.5
"""How much the features of an iteration count in the pool, relative to those of the next."""
LEAST_REACH = 1e-3
"""Costs at the noise floor count for this much."""
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

    @property
    def policy(self) -> AbstractPolicy:
        return self.planner.policy


class MobILESettings(Settings):
    """Hyper-parameters of MobILE; each part is configured by constructing it."""

    dynamics: AbstractDynamics = EnsembleDynamics(
        width=200, optimiser=Adam(), plan=Passes(passes=4, batch_size=128)
    )
    """The model P̂ and its uncertainty."""
    termination: AbstractTermination = LearnedTermination()
    """What ends an imagined episode."""
    bonus: AbstractBonus = BufferNormalised()
    """Reward for uncertainty."""
    discriminator: AbstractDiscriminator = MMD()
    """Discriminator between the learner's and the expert's states."""
    planner: AbstractPlanner = TRPO(kl=0.02, critic=GAECritic(discount=None))
    """How the policy is improved inside the model."""
    policy: MLPPolicy = MLPPolicy(log_std_min=-2.0)
    """The policy's network."""
    inference: Inference | None = Inference()
    """Actions inferred for the demonstrated steps, and their uses; None infers nothing. It is off
    where demonstrations hold a feature h(s) of the state."""
    floor: bool = True
    """Heed the noise floor, which is the expert's own distance from itself: costs count for as much
    as the distance exceeds it, and the policy to return is the newest of those that it, and how
    much a policy's own episodes differ, cannot tell apart."""
    weight: float = 0.1
    """λ: weight of the exploration bonus in the cost; 0 turns it off."""
    balanced: bool = True
    """Weigh the bonus in units of the discriminator's cost: over the imagined steps both vary by
    as much before λ is applied."""
    policy_steps: int = 10
    """K: policy steps per iteration."""
    refit: bool = True
    """Fit the discriminator at every policy step; otherwise once per iteration."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    imagined_streams: int | None = None
    """Imagined trajectories per policy step, each of one horizon; None for as many as have about
    6,400 steps, at least 16 and at most 128."""
    expert_starts: float = 0.2
    """Share of imagined trajectories that begin in a demonstrated state instead of a reset one."""
    paired: bool = True
    """Fit the discriminator on imagined trajectories that begin where demonstrations began, so that
    it cannot tell them apart by their first states; otherwise on those from reset states."""
    buffer_horizons: int | None = None
    """Replay buffer size, in horizons; every model is fitted to all of it. None for 19,200
    transitions, at least 96 horizons: the inverse models draw from all of it in each pass, the
    others are fitted to the newest third."""
    runaway: float = 2.0
    """An imagined trajectory has run away when the normalised norm of its state exceeds this
    multiple of the largest one demonstrated or visited."""

    def __post_init__(self):
        require_at_least(self, 1, "policy_steps", "streams", "runaway")
        for name in ("imagined_streams", "buffer_horizons"):
            if getattr(self, name) is not None:
                require_at_least(self, 1, name)
        require_share(self, "weight", "expert_starts")
        if self.inference is not None and self.streams < 2:
            raise ValueError(
                "inference needs a second stream for the clone to act in; use streams=2, or "
                "inference=None"
            )
        self.bonus.check(self.dynamics)

    def for_problem(self, problem: Problem) -> "MobILESettings":
        """The settings with what follows from the environment filled in."""
        horizon, streams = problem.horizon, self.imagined_streams
        if streams is None:
            steps = min(IMAGINED_STEPS, _most_steps(problem))
            streams = min(max(steps // horizon, FEWEST_STREAMS), MOST_STREAMS)
        return replace(
            self,
            imagined_streams=streams,
            planner=self.planner.for_horizon(horizon),
            discriminator=self.discriminator.at_rate(problem.every),
            inference=None if problem.feature_map is not None else self.inference,
        )

    def empty_buffer(self, problem: Problem) -> Buffer:
        """A replay buffer of the right size."""
        size, per_pass = self.buffer_horizons, None
        if size is None:
            steps = min(PASS_STEPS, _most_steps(problem))
            horizons = max(steps // problem.horizon, PASS_HORIZONS)
            size, per_pass = KEPT_PASSES * horizons, horizons * problem.horizon
        transition = Transition.zeros(problem.state_dim, problem.actions)
        return Buffer.empty(transition, size * problem.horizon, ENDINGS, RESETS, per_pass)


def _most_steps(problem: Problem) -> int:
    return MOST_NUMBERS // (2 * problem.state_dim)


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
        chosen=Choice.none_yet(policy if inference is None else inference.acting(policy)),
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
    newest = buffer.newest()  # near where the policy goes now
    dynamics, model_log = settings.dynamics.fit(
        state.dynamics, transitions, newest, key=keys["dynamics"]
    )
    termination, ending_log = settings.termination.fit(
        state.termination, newest, key=keys["termination"]
    )
    bonus = settings.bonus.fit(dynamics.model, newest)
    planner = adapt_scales(problem, state, buffer)
    scales = planner.critic.critic.normaliser
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
    if not state.pools:
        mmd = real_mmd(spec, fitted, rollout, expert.mean_features)
        chosen = state.chosen.or_better(state.policy, mmd, state.iteration)
        return eqx.tree_at(lambda s: s.chosen, state, chosen), {"mmd": mmd}

    psi = jax.vmap(jax.vmap(fitted.features))(rollout.state, rollout.next_state)

    def mean_features(psi, streams: Rollout):
        total, time = spec.total_features(psi, streams, by_age(streams))
        return total / time

    def pool(before: Pooled, part: slice) -> Pooled:
        streams = jax.tree.map(lambda x: x[part], rollout)
        alone = jax.vmap(
            lambda psi, stream: mean_features(psi[None], jax.tree.map(lambda x: x[None], stream))
        )(psi[part], streams)
        distances = jax.vmap(lambda mean: fitted.distance(mean, expert.mean_features))(alone)
        totals = spec.total_features(psi[part], streams, by_age(streams))
        return before.joined_by(*totals, distances, KEEP)

    own = own_streams(settings)
    pools = tuple(map(pool, state.pools, (slice(own), slice(own, None))))
    distances = [fitted.distance(pooled.mean, expert.mean_features) for pooled in pools]
    mmd, floor = distances[0], expert.floor(pools[0].episodes)
    log = {"mmd": mmd, "mmd_floor": floor}

    def offer(choice: Choice, policy: AbstractPolicy, which: int) -> Choice:
        mmd, pooled = distances[which], pools[which]
        noise = floor**2 + pooled.scatter(mmd) / pooled.episodes if settings.floor else 0.0
        return choice.or_tied(policy, mmd, state.iteration, jnp.asarray(noise))

    acted = state.policy
    if state.inference is not None:
        acted = state.inference.acting(acted)
    chosen = offer(state.chosen, acted, 0)
    if state.inference is not None:
        clone, clone_mmd = state.inference.clone, distances[1]
        # a tie goes to what is offered last, so that is the nearer one
        policy_last = offer(offer(state.chosen, clone, 1), acted, 0)
        chosen = where(clone_mmd < mmd, offer(chosen, clone, 1), policy_last)
        # what the untrained policy did says nothing of these two
        untrained = exploring(settings, problem, state.iteration)
        chosen, pools = where(untrained, (state.chosen, state.pools), (chosen, pools))
        log |= {"clone_mmd": clone_mmd}
    return eqx.tree_at(lambda s: (s.chosen, s.pools), state, (chosen, pools)), log


def real_excess(
    settings: MobILESettings, problem: Problem, state: TrainState, expert: Expert
) -> Float[Array, ""]:
    """How far the squared real distance of the policy that the planner starts from exceeds the
    squared noise floor; infinite before it, or the clone that it is, has acted."""
    pooled = state.pools[0]
    mmd = state.discriminator.distance(pooled.mean, expert.mean_features)
    excess = jnp.maximum(mmd**2 - expert.floor(pooled.episodes) ** 2, 0)
    return jnp.where(exploring(settings, problem, state.iteration), jnp.inf, excess)


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
    sparse = problem.every > 1
    seen = state.buffer.spans(problem.every) if sparse else state.buffer
    inference, actions, log = spec.fit(state.inference, seen, expert.steps, key=key)
    trust = jnp.ones(expert.steps.before.shape[0])
    if spec.witness and not sparse:  # the model explains one step
        trust = explained(state.dynamics.model, state.buffer, expert.steps, actions)
    untrained = exploring(settings, problem, state.iteration)
    judged = verdict(pooled, real["mmd"], clone_pooled, real["clone_mmd"], expert.floor)
    starts, belief = spec.decide(inference.belief, judged, untrained)
    inference, strength = replace(inference, belief=belief), spec.pull * belief
    # nothing that could be returned has acted yet: take the newest
    newest = Choice.unmeasured(inference.clone, state.iteration + 1)
    state = eqx.tree_at(
        lambda s: (s.planner.policy, s.pools, s.chosen, s.inference),
        state,
        (
            where(starts, with_bound(inference.clone, settings.policy.log_std_min), state.policy),
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
    if excess is not None:
        infers = settings.inference is not None
        reach = signal(expert, log["imagined_mmd"], judged.sum(), excess, infers)
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
    share = 1 - expert.floor.scatter / trajectories / squared
    if real_counts:
        share = jnp.minimum(share, excess / squared)
    return jnp.clip(share, LEAST_REACH, 1.0)


def judge(
    settings: MobILESettings,
    expert: Expert,
    discriminator: Any,
    rollout: Rollout,
    bonuses: Float[Array, "N T"],
    judged: Bool[Array, " N"],
    refit: Bool[Array, ""],
) -> tuple[Any, Batch, Log]:
    """Fit f_w to tell imagined states from demonstrated ones, and compute the cost of every step,
    (1 - λ)·clip(f_w) - λ·b, with b in the units of f_w if `balanced`.

    f_w is fitted on the trajectories that are `judged`: the others began in the midst of a
    demonstration and do not show where the policy goes.
    """
    spec, share = settings.discriminator, settings.weight
    features = jax.vmap(jax.vmap(discriminator.features))(rollout.state, rollout.next_state)
    own = jax.tree.map(
        lambda x: x & judged[:, None],
        {"valid": rollout.valid, "terminal": rollout.terminal, "runaway": rollout.runaway},
    )
    own_rollout = rollout._replace(**own)
    total, time = spec.total_features(features, own_rollout, by_age(own_rollout))
    mean = total / jnp.maximum(time, 1.0)
    discriminator = where(refit, spec.fit(discriminator, mean, expert.mean_features), discriminator)

    seen = lambda x: jnp.where(rollout.valid, x, 0).sum() / jnp.maximum(rollout.valid.sum(), 1)
    spread = lambda x: jnp.sqrt(seen((x - seen(x)) ** 2))
    away, reward = spec.cost(discriminator, features), share * bonuses
    if settings.balanced:
        reward = reward * spread(away) / jnp.maximum(spread(bonuses), LEAST_SPREAD)
    cost = (1 - share) * away - reward
    after_terminal, after_runaway = spec.ending_costs(discriminator)
    batch = Batch(
        rollout, cost, (1 - share) * after_terminal, (1 - share) * after_runaway, bonus=reward
    )
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
    acting = state.inference.acting(state.policy)
    sharing = [(acting, own), (state.inference.clone, settings.streams - own)]
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
