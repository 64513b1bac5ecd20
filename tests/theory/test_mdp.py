import itertools

import numpy as np
import pytest

from ilfo.theory.mdp import FiniteMDP, occupancy, policy_of
from tests.helpers.finite_mdps import evaluate, plan, random_mdp, random_policy

TWO_STATES = FiniteMDP(
    np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]), np.array([1.0, 0.0]), 3
)


def test_value_by_hand():
    """Always the second action: cost 1 in state 1, reached with ½ per step: 0 + ½ + ¾."""
    policy = np.tile([0.0, 1.0], (3, 2, 1))
    cost = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert evaluate(TWO_STATES, cost, policy) == pytest.approx(1.25)
    np.testing.assert_allclose(occupancy(TWO_STATES, policy)[:, 1, 1], [0, 0.5, 0.75])


@pytest.mark.parametrize("seed", range(5))
def test_occupancy_gives_the_value_and_its_policy_back(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(4, 3, 5, rng)
    policy, cost = random_policy(mdp, rng), rng.uniform(size=(4, 3))
    found = occupancy(mdp, policy)
    np.testing.assert_allclose(found.sum((1, 2)), 1)
    assert (found * cost).sum() == pytest.approx(evaluate(mdp, cost, policy))
    np.testing.assert_allclose(policy_of(found), policy)


def test_plan_is_the_best_of_all_deterministic_policies():
    rng = np.random.default_rng(0)
    mdp = random_mdp(2, 2, 3, rng)
    cost = rng.uniform(-1, 1, size=(2, 2))
    every = itertools.product([0, 1], repeat=6)
    values = [evaluate(mdp, cost, np.eye(2)[np.reshape(each, (3, 2))]) for each in every]
    policy, value = plan(mdp, cost)
    assert value == pytest.approx(min(values))
    assert evaluate(mdp, cost, policy) == pytest.approx(value)


def test_a_state_that_is_never_reached_gets_a_uniform_policy():
    found = policy_of(occupancy(TWO_STATES, np.tile([1.0, 0.0], (3, 2, 1))))
    np.testing.assert_allclose(found[:, 1], 0.5)
