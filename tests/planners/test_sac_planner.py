"""SAC as a planner: its rewards by hand, where it goes, and what it refuses."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam
from ilfo.planners.critic import Batch
from ilfo.planners.pull import Pull
from ilfo.planners.sac import SACState
from ilfo.planners.sac_planner import SACPlanner, bonus_share
from tests.helpers.agents import bits
from tests.helpers.policies import NORMALISER, STATE_DIM, bandit_batch, small_policy

PLANNER = SACPlanner(
    kl=1e3, updates=60, discount=0.5, batch_size=32, width=16, optimiser=Adam(1e-2), tracking=0.1
)
KEY = jax.random.key(2)


def started(planner: SACPlanner = PLANNER) -> SACState:
    policy = small_policy("state noise", key=jax.random.key(0), width=16)
    return planner.init(policy, STATE_DIM, NORMALISER, key=jax.random.key(1))


@eqx.filter_jit
def updated(planner: SACPlanner, state: SACState, batch: Batch) -> tuple[SACState, dict]:
    return planner.update(state, batch, key=KEY)


def a_batch(state: SACState, **changes) -> Batch:
    return replace(bandit_batch(state.policy, key=jax.random.key(3)), **changes)


def first_action(state: SACState) -> float:
    """The mean of the action's first entry, which is the cost of `bandit_batch`."""
    states = a_batch(state).rollout.state.reshape(-1, STATE_DIM)
    return float(jax.vmap(state.policy.distribution)(states).mean[:, 0].mean())


def test_rewards_by_hand() -> None:
    """Stream 0 ends in step 2, stream 1 runs away in step 4; what follows is not learned from."""
    batch = a_batch(started())
    batch = replace(batch, terminal_cost=jnp.asarray(3.0), runaway_cost=jnp.asarray(7.0))
    replay = PLANNER._replay(batch)
    valid = np.asarray(batch.rollout.valid)
    assert int(replay.count) == valid.sum() == 64 - 5 - 3
    cost = np.asarray(batch.cost)
    expected = -0.5 * cost
    expected[0, 2] -= 0.5 * 3
    expected[1, 4] -= 0.5 * 7
    kept = np.asarray(replay.items.reward)[: valid.sum()]
    np.testing.assert_allclose(kept, expected[valid], rtol=1e-6)
    ended = np.asarray(replay.items.transition.terminal)[: valid.sum()]
    assert ended.sum() == 2


def test_the_dear_action_becomes_rarer() -> None:
    state = started()
    before = first_action(state)
    for _ in range(3):
        state, log = updated(PLANNER, state, a_batch(state))
    assert first_action(state) < before - 0.2
    assert log["kl"] > 0
    assert log["accepted"] == 1


def test_the_policy_goes_as_far_as_costs_are_more_than_noise() -> None:
    state = started()
    weight = lambda state: np.asarray(state.policy.network.layers[0].weight)
    whole, _ = updated(PLANNER, state, a_batch(state, reach=jnp.asarray(1.0)))
    half, _ = updated(PLANNER, state, a_batch(state, reach=jnp.asarray(0.5)))
    none, log = updated(PLANNER, state, a_batch(state, reach=jnp.asarray(0.0)))
    np.testing.assert_allclose(
        weight(half) - weight(state), 0.5 * (weight(whole) - weight(state)), atol=1e-6
    )
    np.testing.assert_array_equal(weight(none), weight(state))
    assert log["kl"] == 0


def test_a_step_is_shortened_to_the_bound() -> None:
    state = started()
    _, far = updated(PLANNER, state, a_batch(state))
    _, near = updated(replace(PLANNER, kl=0.01), state, a_batch(state))
    assert far["kl"] > 0.1
    assert 0.003 < near["kl"] < 0.02


def test_the_pull_is_followed() -> None:
    """Towards actions of 1.5 in the first entry, although they are dear."""
    state = started()
    states = jax.random.normal(jax.random.key(5), (64, STATE_DIM))
    pull = Pull(states, jnp.broadcast_to(jnp.array([1.5, 0.0]), (64, 2)), jnp.full(64, 10.0))
    free, pulled = state, state
    for _ in range(3):
        free, _ = updated(PLANNER, free, a_batch(free))
        pulled, _ = updated(PLANNER, pulled, a_batch(pulled, pull=pull))
    assert first_action(pulled) > first_action(free) + 0.5


def test_same_key_same_bits_and_the_normaliser_stays() -> None:
    state = started()
    one, other = (updated(PLANNER, state, a_batch(state))[0] for _ in range(2))
    assert bits(one) == bits(other)
    assert bits(one.policy.normaliser) == bits(NORMALISER)


def test_the_share_of_the_bonus_by_hand() -> None:
    """Costs of standard deviation 3 beside a bonus of 1: a quarter."""
    batch = a_batch(started())
    signs = jnp.where(jnp.arange(8) % 2 == 0, 1.0, -1.0)
    whole = batch.rollout._replace(valid=jnp.ones((8, 8), bool))
    bonus, other = jnp.broadcast_to(signs, (8, 8)), jnp.broadcast_to(3 * signs, (8, 8))
    batch = replace(batch, rollout=whole, cost=other - bonus, bonus=bonus)
    assert float(bonus_share(batch)) == pytest.approx(0.25)
    assert float(bonus_share(replace(batch, bonus=None))) == 0


def test_the_discount_follows_from_the_horizon() -> None:
    open_ended = SACPlanner()
    assert open_ended.for_horizon(400).discount == pytest.approx(1 - 5 / 400)
    assert PLANNER.for_horizon(400).discount == 0.5
    with pytest.raises(ValueError, match="the discount is open"):
        _ = open_ended.learner


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_policies_that_it_cannot_improve(kind: str) -> None:
    policy = small_policy(kind, key=jax.random.key(0))
    with pytest.raises(ValueError, match="needs Box actions and a policy whose noise"):
        PLANNER.init(policy, STATE_DIM, NORMALISER, key=KEY)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"updates": 0}, "updates"),
        ({"branch": 0}, "branch"),
        ({"discount": 1.0}, "discount is 1.0"),
        ({"kl": 0.0}, "kl"),
        ({"initial_temperature": 0.0}, "initial_temperature"),
    ],
)
def test_settings_that_make_no_sense(changes: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SACPlanner(**changes)
