"""One of the K policy steps of MobILE: imagine trajectories, tell them from the expert's, improve.

    imagine       trajectories of the policy in the model
    discriminate  f_w tells imagined states from demonstrated ones
    plan          a step on the cost (1 - λ)·clip(f_w) - λ·b

`ilfo.methods.mobile` has the loop around it.
"""

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.agents.problem import Problem
from ilfo.common.buffer import Buffer
from ilfo.common.pytrees import where
from ilfo.common.types import Expert, Log, Rollout
from ilfo.methods.inference import Inferred
from ilfo.methods.measuring import imagined_mean, signal
from ilfo.methods.mobile_settings import MobILESettings
from ilfo.planners.base import PlannerState
from ilfo.planners.critic import Batch
from ilfo.policies.base import AbstractPolicy
from ilfo.rollouts.imagine import World, draw_branches, draw_starts

LEAST_SPREAD = 0.1
"""A bonus that varies less than this is not made to vary as much as the cost."""


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
    features, mean = imagined_mean(spec, discriminator, rollout, judged)
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
