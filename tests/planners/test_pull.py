"""Planners with a pull towards inferred actions, and with costs that are partly noise."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from ilfo.common.fitting import Adam, Passes
from ilfo.common.types import Normaliser
from ilfo.planners.base import AbstractPlanner
from ilfo.planners.ppo import PPO
from ilfo.planners.pull import Pull
from ilfo.planners.trpo import TRPO
from ilfo.policies.mlp import with_noise
from tests.helpers.policies import bandit_batch, small_policy

PLANNERS = {
    "trpo": TRPO(kl=0.02),
    "ppo": PPO(optimiser=Adam(1e-3), plan=Passes(passes=2, batch_size=16)),
}


def test_a_pull_by_hand():
    """The mean of -log π(a|s) over two actions is that over one between them which scatters."""
    policy, states = small_policy("gaussian", key=jax.random.key(0)), jnp.ones((2, 3))
    away = jnp.array([[0.3, 0.3], [-0.3, -0.3]])
    apart = Pull(states, away, jnp.ones(2))
    between = Pull(states[:1], 0 * away[:1], jnp.ones(1), scatter=0.3**2)
    np.testing.assert_allclose(between(policy), apart(policy), rtol=1e-6)


def test_a_pull_is_of_the_whole_noise():
    policy = small_policy("state noise", key=jax.random.key(0))
    pull = Pull(jnp.ones((2, 3)), jnp.array([[0.3, 0.3], [-0.3, 0.1]]), jnp.ones(2))
    assert float(pull(with_noise(policy, 0.25))) == float(pull(policy))


@pytest.fixture(params=list(PLANNERS))
def planner(request) -> AbstractPlanner:
    return PLANNERS[request.param]


@pytest.fixture(params=["categorical", "gaussian"])
def parts(request):
    """A policy, a batch, and a pull towards actions that the policy would hardly take."""
    policy = small_policy(request.param, key=jax.random.key(0), width=3)
    batch = bandit_batch(policy, key=jax.random.key(1), streams=4, steps=8)
    states = batch.rollout.state.reshape(-1, batch.rollout.state.shape[-1])
    first = policy.distribution(states[0])
    action = first.sample(first.noise(key=jax.random.key(2)))
    actions = jnp.broadcast_to(action, (len(states), *action.shape))
    return policy, batch, Pull(states, actions, jnp.ones(len(states)))


@eqx.filter_jit
def update(planner, policy, batch):
    dim = batch.rollout.state.shape[-1]
    state = planner.init(policy, dim, Normaliser.identity(dim), key=jax.random.key(0))
    return planner.update(state, batch, key=jax.random.key(3))


def test_a_pull_is_the_weighted_mean_of_the_negative_log_likelihood(parts):
    policy, _, pull = parts
    half = replace(pull, weight=jnp.linspace(0, 1, len(pull.weight)))
    by_hand = [
        float(weight * -policy.distribution(state).log_prob(action))
        for state, action, weight in zip(half.states, half.actions, half.weight, strict=True)
    ]
    assert float(half(policy)) == pytest.approx(np.mean(by_hand), rel=1e-4)


def test_a_planner_follows_a_strong_pull(planner, parts):
    policy, batch, pull = parts
    strong = replace(batch, pull=replace(pull, weight=100 * pull.weight))
    pulled, log = update(planner, policy, strong)
    assert float(pull(pulled.policy)) < float(pull(policy))
    if isinstance(planner, TRPO):
        assert float(log["kl"]) <= planner.kl


def test_a_pull_without_weight_does_not_change_the_direction(parts):
    """Its length may differ by a step of the line search: the full step is at the bound."""
    policy, batch, pull = parts
    weightless = replace(batch, pull=replace(pull, weight=0 * pull.weight))
    moved = [
        _parameters(update(PLANNERS["trpo"], policy, some)[0].policy) - _parameters(policy)
        for some in (batch, weightless)
    ]
    lengths = np.prod([np.linalg.norm(one) for one in moved])
    assert moved[0] @ moved[1] / lengths > 0.999


@pytest.mark.parametrize("pulled", [False, True])
def test_the_step_shrinks_as_costs_become_noise(parts, pulled):
    policy, batch, pull = parts
    batch = replace(batch, pull=pull) if pulled else batch
    kl = {}
    for reach in (1.0, 0.1, 1e-3):
        _, log = update(PLANNERS["trpo"], policy, replace(batch, reach=jnp.asarray(reach)))
        kl[reach] = float(log["kl"])
    assert 0.02 >= kl[1.0] > 2 * kl[0.1] > 2 * kl[1e-3]
    assert kl[1e-3] <= 0.02 * 1e-3


def _parameters(policy) -> np.ndarray:
    return np.asarray(ravel_pytree(eqx.filter(policy, eqx.is_inexact_array))[0])
