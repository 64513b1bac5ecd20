"""MobILE: model-based imitation learning and exploring (paper, Algorithm 2).

    repeat:
        collect       the policy acts in the real environment
        remember      the transitions go into a replay buffer of fixed size
        fit dynamics  an ensemble, and a termination model
        bonus         reward for going where the members disagree
        K times:
            imagine       trajectories of the policy in the model
            discriminate  f_w tells imagined states from demonstrated ones
            plan          a step of TRPO on the cost (1 - λ)·clip(f_w) - λ·b

`collect` runs on the host; everything after it is `improve`, one compiled function.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.agents.agent import Agent
from ilfo.agents.method import Method
from ilfo.agents.problem import Problem
from ilfo.agents.selection import Average, Choice, real_mmd
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
from ilfo.planners.base import AbstractPlanner, PlannerState
from ilfo.planners.critic import Batch
from ilfo.planners.trpo import TRPO
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.imagine import World, draw_starts, trusted_radius

ENDINGS, RESETS = 500, 500
"""Terminal transitions and reset states that the buffer keeps beside recent transitions."""


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
    weight: float = 0.1
    """λ: weight of the exploration bonus in the cost; 0 turns it off."""
    policy_steps: int = 10
    """K: policy steps per iteration."""
    refit: bool = True
    """Fit the discriminator at every policy step; otherwise once per iteration."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    imagined_streams: int = 16
    """Imagined trajectories per policy step, each of one horizon."""
    expert_starts: float = 0.2
    """Share of imagined trajectories that begin in a demonstrated state instead of a reset one."""
    buffer_horizons: int = 10
    """Replay buffer size, in horizons."""
    runaway: float = 2.0
    """An imagined trajectory has run away when the normalised norm of its state exceeds this
    multiple of the largest one demonstrated or visited."""
    averaging: float | None = None
    """If set, the policy to return is selected from running means of the policies' weights. This is
    the weight of the newest policy. Until there are 1/averaging of them, all count the same; with 0
    they always do. None selects from single policies."""

    def __post_init__(self):
        require_at_least(
            self, 1, "policy_steps", "streams", "imagined_streams", "buffer_horizons", "runaway"
        )
        require_share(self, "weight", "expert_starts")
        if self.averaging is not None:
            require_share(self, "averaging")
        self.bonus.check(self.dynamics)


def init(
    settings: MobILESettings,
    problem: Problem,
    steps: DemonstratedSteps,
    *,
    key: Array,
) -> TrainState:
    """A fresh train state for one seed; `steps` is a sample of the demonstrated steps."""
    keys = named_keys(key, "policy", "planner", "dynamics", "termination", "discriminator", "run")
    dim, actions = problem.state_dim, problem.actions
    normaliser = Normaliser.identity(dim)
    if problem.feature_map is None:
        normaliser = Normaliser.fit(steps.after, steps.weight)
    policy = settings.policy.init(dim, actions, normaliser, key=keys["policy"])
    capacity = settings.buffer_horizons * problem.horizon
    return TrainState(
        planner=settings.planner.init(policy, dim, normaliser, key=keys["planner"]),
        dynamics=settings.dynamics.init(dim, actions, key=keys["dynamics"]),
        termination=settings.termination.init(dim, key=keys["termination"]),
        discriminator=settings.discriminator.init(
            steps, problem.feature_map, key=keys["discriminator"]
        ),
        buffer=Buffer.empty(Transition.zeros(dim, actions), capacity, ENDINGS, RESETS),
        average=Average.of_none(policy),
        chosen=Choice.none_yet(policy),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
    )


def improve(
    settings: MobILESettings, problem: Problem, state: TrainState, rollout: Rollout, expert: Expert
) -> tuple[TrainState, Log]:
    """One iteration of Algorithm 2, after `state.policy` has collected `rollout`."""
    keys = named_keys(state.key, "dynamics", "termination", "plan", "next")
    mmd = real_mmd(settings.discriminator, state.discriminator, rollout, expert.mean_features)
    share = 1.0 if settings.averaging is None else settings.averaging
    average = state.average.joined_by(state.policy, mmd, share)
    chosen = state.chosen.or_better(average.policy, average.value, state.iteration)

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

    imagination = Imagination(world, buffer, expert)

    def policy_step(carry, now):
        step, key = now
        planner, discriminator = carry
        planner, discriminator, log = plan(
            settings, problem, imagination, planner, discriminator, step, key=key
        )
        return (planner, discriminator), log

    steps = (
        jnp.arange(settings.policy_steps),
        jax.random.split(keys["plan"], settings.policy_steps),
    )
    (planner, discriminator), plan_log = filter_scan(
        policy_step, (planner, state.discriminator), steps
    )
    log = {"mmd": mmd} | model_log | ending_log | jax.tree.map(jnp.mean, plan_log)
    log |= {"bonus_limit": bonus.limit, "imagined_mmd": plan_log["imagined_mmd"][-1]}
    log |= {
        "finite_dynamics": all_finite(dynamics.model),
        "finite_termination": all_finite(termination),
        "finite_discriminator": all_finite(discriminator),
        "finite_planner": all_finite(planner),
    }
    return TrainState(
        planner,
        dynamics,
        termination,
        discriminator,
        buffer,
        average,
        chosen,
        keys["next"],
        state.iteration + 1,
    ), log


class Imagination(NamedTuple):
    """What stays the same during the K policy steps of an iteration."""

    world: World
    """The learned model, its termination and the bonus."""
    buffer: Buffer
    """Where imagined trajectories begin, beside demonstrated states."""
    expert: Expert


def plan(
    settings: MobILESettings,
    problem: Problem,
    imagination: Imagination,
    planner: PlannerState,
    discriminator: Any,
    step: Int[Array, ""],
    *,
    key: Array,
) -> tuple[PlannerState, Any, Log]:
    """One of the K policy steps: imagine, discriminate, improve."""
    start_key, imagine_key, update_key = jax.random.split(key, 3)
    world, buffer, expert = imagination
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
    planner, planner_log = settings.planner.update(planner, batch, key=update_key)
    return planner, discriminator, log | planner_log


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
        init=init,
        improve=improve,
        discriminator="discriminator",
        check=check,
        metrics=(
            "mmd",
            "imagined_mmd",
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
