"""How near real rollouts came to the demonstrations, and what MobILE makes of it.

The distance of what acted selects the policy to return. How far it exceeds the noise floor says how
much of the imagined costs is more than noise.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.agents.problem import Problem
from ilfo.agents.selection import Choice, Pooled, real_mmd
from ilfo.common.pytrees import where
from ilfo.common.types import Expert, Log, Rollout
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.occupancy import by_age
from ilfo.methods.mobile_settings import MobILESettings
from ilfo.policies.base import AbstractPolicy

if TYPE_CHECKING:
    from ilfo.methods.mobile import TrainState

KEEP = 0.5
"""How much the features of an iteration count in the pool, relative to those of the next."""
LOST = 2.0
"""A policy whose squared distance is this multiple of the smallest one so far, beyond noise, has
lost what was learned."""
LEAST_REACH = 1e-3
"""Costs at the noise floor count for this much."""


def exploring(settings: MobILESettings, problem: Problem, iteration: Any) -> Bool[Array, ""]:
    """Whether the untrained policy acted in that iteration, or acts in it."""
    if settings.inference is None:
        return jnp.zeros((), bool)
    return iteration * settings.streams * problem.horizon < settings.inference.explore


def own_streams(settings: MobILESettings) -> int:
    """Streams that the planner's policy acts in; a clone has the others."""
    return settings.streams if settings.inference is None else (settings.streams + 1) // 2


def measure(
    settings: MobILESettings,
    problem: Problem,
    state: "TrainState",
    rollout: Rollout,
    expert: Expert,
) -> tuple["TrainState", Log]:
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
    log = {"mmd": distances[0], "mmd_floor": expert.floor(pools[0].episodes)}
    if state.inference is not None:
        acted = fitted.distance(mean_features(psi, rollout), expert.mean_features)
        log |= {"clone_mmd": distances[1], "acted_mmd": acted}
    state, fell_back = judge_policies(settings, problem, state, pools, distances, log["mmd_floor"])
    return state, log | {"fell_back": fell_back.astype(jnp.float32)}


def imagined_mean(
    spec: AbstractDiscriminator, discriminator: Any, rollout: Rollout, judged: Bool[Array, " N"]
) -> tuple[Float[Array, "N T D"], Float[Array, " D"]]:
    """The features of all imagined steps, and the mean over the trajectories that are judged."""
    features = jax.vmap(jax.vmap(discriminator.features))(rollout.state, rollout.next_state)
    own = jax.tree.map(
        lambda x: x & judged[:, None],
        {"valid": rollout.valid, "terminal": rollout.terminal, "runaway": rollout.runaway},
    )
    own_rollout = rollout._replace(**own)
    total, time = spec.total_features(features, own_rollout, by_age(own_rollout))
    return features, total / jnp.maximum(time, 1.0)


def judge_policies(
    settings: MobILESettings,
    problem: Problem,
    state: "TrainState",
    pools: tuple[Pooled, ...],
    distances: Sequence[Float[Array, ""]],
    floor: Float[Array, ""],
) -> tuple["TrainState", Bool[Array, ""]]:
    """The selection of the policy to return, from which the planner goes on where its own policy
    has lost what was learned; and whether it has."""

    def noise(which: int) -> Float[Array, ""]:
        mmd, pooled = distances[which], pools[which]
        squared = floor**2 + pooled.scatter(mmd) / pooled.episodes
        return squared if settings.floor else jnp.zeros(())

    def offer(best: tuple[Choice, Pooled], policy: AbstractPolicy, which: int):
        choice = best[0].or_tied(policy, distances[which], state.iteration, noise(which))
        return choice, where(choice.value == distances[which], pools[which], best[1])

    assert state.kept is not None
    before, mmd = (state.chosen, state.kept), distances[0]
    best, joined = offer(before, state.policy, 0), pools
    if state.inference is not None:
        clone, clone_mmd = state.inference.acting, distances[1]
        # a tie goes to what is offered last, so that is the nearer one
        policy_last = offer(offer(before, clone, 1), state.policy, 0)
        best = where(clone_mmd < mmd, offer(best, clone, 1), policy_last)
        # what the untrained policy did says nothing of these two
        untrained = exploring(settings, problem, state.iteration)
        best, joined = where(untrained, (before, state.pools), (best, pools))
    chosen, kept = best
    lost = (mmd**2 > LOST * chosen.smallest**2 + noise(0)) & settings.fall_back
    policy, pooled = where(lost, (chosen.policy, kept), (state.policy, joined[0]))
    return eqx.tree_at(
        lambda s: (s.chosen, s.kept, s.pools, s.planner.policy),
        state,
        (chosen, kept, (pooled, *joined[1:]), policy),
    ), lost


def real_excess(
    settings: MobILESettings, problem: Problem, state: "TrainState", expert: Expert
) -> Float[Array, ""]:
    """How far the squared real distance of the policy that the planner starts from exceeds the
    squared noise floor; infinite before it, or the clone that it is, has acted."""
    pooled = state.pools[0]
    mmd = state.discriminator.distance(pooled.mean, expert.mean_features)
    excess = jnp.maximum(mmd**2 - expert.floor(pooled.episodes) ** 2, 0)
    return jnp.where(exploring(settings, problem, state.iteration), jnp.inf, excess)


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
