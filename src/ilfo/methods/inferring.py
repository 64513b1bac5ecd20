"""What MobILE does with inferred actions in an iteration: how much to believe of them, whether the
planner starts from the clone, and how much of its noise acts.

`ilfo.methods.inference` has the models and the rules.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.agents.problem import Problem
from ilfo.agents.selection import Choice
from ilfo.common.pytrees import where
from ilfo.common.types import Expert, Log
from ilfo.methods.held_actions import read_again
from ilfo.methods.inference import Inferred, explained, verdict
from ilfo.methods.measuring import exploring, imagined_mean
from ilfo.methods.mobile_settings import MobILESettings
from ilfo.policies.mlp import with_noise
from ilfo.rollouts.imagine import World, draw_starts

if TYPE_CHECKING:
    from ilfo.methods.mobile import TrainState


def infer(
    settings: MobILESettings,
    problem: Problem,
    state: "TrainState",
    expert: Expert,
    world: World,
    real: Log,
    *,
    key: Array,
) -> tuple["TrainState", Inferred | None, Log]:
    """Infer the expert's actions; where the clone is not worse, the planner starts from it."""
    if settings.inference is None:
        return state, None, {}
    assert state.inference is not None
    spec, (pooled, clone_pooled) = settings.inference, state.pools
    sparse = problem.every > 1
    seen = state.buffer.spans(problem.every) if sparse else state.buffer
    scatter = spec.scatter(settings.policy, expert.steps)
    inference, actions, log = spec.fit(state.inference, seen, expert.steps, scatter, key=key)
    if inference.held is not None:
        inference, actions, read = read_again(
            spec,
            problem,
            world,
            state.buffer,
            inference,
            actions,
            expert.steps,
            scatter,
            key=jax.random.fold_in(key, 2),
        )
        log |= read
    trust = jnp.ones(expert.steps.before.shape[0])
    if spec.witness and not sparse:  # the model explains one step
        trust = explained(state.dynamics.model, state.buffer, expert.steps, actions)
    untrained = exploring(settings, problem, state.iteration)
    untrained_mmd = jnp.where(untrained, real["mmd"], inference.untrained)
    mmd = state.discriminator.distance(pooled.mean, expert.mean_features)
    judged = verdict(pooled, mmd, clone_pooled, real["clone_mmd"], expert.floor, untrained_mmd)
    starts, belief = spec.decide(inference.belief, judged, untrained)
    inference = replace(inference, belief=belief, untrained=untrained_mmd)
    strength = spec.strength(belief, expert.floor.demonstrations)
    # nothing that could be returned has acted yet: take the newest
    newest = Choice.unmeasured(inference.acting, state.iteration + 1)
    state = eqx.tree_at(
        lambda s: (s.planner.policy, s.pools, s.chosen, s.inference),
        state,
        (
            where(starts, inference.acting, state.policy),
            (where(starts, clone_pooled, pooled), clone_pooled),
            where(untrained, newest, state.chosen),
            inference,
        ),
    )
    log |= {"pull": strength, "clone_starts": starts.astype(jnp.float32)}
    if not sparse:
        log |= {"trust": trust.mean()}
    if inference.noise is not None:
        state, factor = choose_noise(settings, problem, state, expert, world, real, key=key)
        log |= {"acting_noise": factor}
    inferred = Inferred(actions, strength * trust, scatter) if spec.pull else None
    return state, inferred, log


def choose_noise(
    settings: MobILESettings,
    problem: Problem,
    state: "TrainState",
    expert: Expert,
    world: World,
    real: Log,
    *,
    key: Array,
) -> tuple["TrainState", Float[Array, ""]]:
    """How much of their noise policy and clone act with from now on, and the factor of it."""
    spec, inference = settings.inference, state.inference
    assert spec is not None
    assert inference is not None
    assert inference.noise is not None
    assert settings.imagined_streams is not None
    start_key, imagine_key = jax.random.split(jax.random.fold_in(key, 1))
    starts, judged = draw_starts(
        state.buffer, expert, settings.imagined_streams, 0.0, settings.paired, key=start_key
    )

    def squared(factor: Float[Array, ""]) -> Float[Array, ""]:
        clone = with_noise(inference.acting, factor)
        rollout = world.imagine(clone, problem.actions, starts, problem.horizon, key=imagine_key)
        mean = imagined_mean(settings.discriminator, state.discriminator, rollout, judged)[1]
        return state.discriminator.distance(mean, expert.mean_features) ** 2

    factors = jnp.asarray(spec.factors)
    untrained = exploring(settings, problem, state.iteration)  # did not act as the clone does
    noise = where(untrained, inference.noise, inference.noise.after(real["acted_mmd"] ** 2))
    floor = expert.floor(jnp.asarray(float(settings.streams)))
    noise = noise.next(jax.lax.map(squared, factors), floor)
    factor = factors[noise.index]
    return eqx.tree_at(
        lambda s: (s.planner.policy, s.inference),
        state,
        (with_noise(state.policy, factor), replace(inference, noise=noise).with_noise(factor)),
    ), factor
