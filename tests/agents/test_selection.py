"""Which policy is returned: the best so far, or the best mean of those that have acted."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.seeds import one_seed
from ilfo.agents.selection import Average, Choice
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Normaliser
from ilfo.policies.mlp import MLPPolicy
from tests.helpers.agents import SEEDS, SETTINGS, STEP, small_agent

ACTIONS = {"discrete": DiscreteActions(3), "real": BoxActions((-1.0,), (1.0,), (1,))}


def policies(actions, count):
    """Policies whose every weight is the number of the policy, from 1 on."""
    normaliser = Normaliser.identity(2)
    first = MLPPolicy(width=4, depth=1).init(2, actions, normaliser, key=jax.random.key(0))
    fill = lambda n: jax.tree.map(
        lambda x: jnp.full_like(x, n) if eqx.is_inexact_array(x) else x, first
    )
    return [fill(float(n)) for n in range(1, count + 1)]


def averaged(actions, count, share):
    given = policies(actions, count)
    average = Average.of_none(given[0])
    for number, policy in enumerate(given, 1):
        average = average.joined_by(policy, jnp.float32(10 * number), share)
    return average


def weights_of(policy):
    return np.unique(
        np.concatenate(
            [np.ravel(x) for x in jax.tree.leaves(eqx.filter(policy.network, eqx.is_array))]
        )
    )


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize(
    ("count", "share", "mean"),
    [
        (1, 0.1, 1.0),
        (3, 0.1, 2.0),  # fewer than 1/share: all the same
        (3, 0.5, 0.25 * 1 + 0.25 * 2 + 0.5 * 3),
        (4, 0.5, 0.125 * 1 + 0.125 * 2 + 0.25 * 3 + 0.5 * 4),
        (4, 0.0, 2.5),
        (4, 1.0, 4.0),
    ],
)
def test_the_newest_policy_has_its_share(actions, count, share, mean):
    average = averaged(ACTIONS[actions], count, share)
    np.testing.assert_allclose(weights_of(average.policy), [mean], rtol=1e-6)
    np.testing.assert_allclose(average.value, 10 * mean, rtol=1e-6)


def test_deviations_are_averaged_and_scales_are_the_newest():
    policy = averaged(ACTIONS["real"], 3, 0.0).policy
    np.testing.assert_allclose(policy.log_std, 2.0)
    np.testing.assert_allclose(policy.normaliser.shift, 3.0)
    np.testing.assert_allclose(policy.normaliser.scale, 3.0)


def test_the_lowest_value_wins_and_the_first_of_equals_stays():
    given = policies(ACTIONS["real"], 4)
    choice = Choice.none_yet(given[0])
    for number, (policy, value) in enumerate(zip(given, [3.0, 2.0, 2.0, 5.0], strict=True)):
        choice = choice.or_better(policy, jnp.float32(value), jnp.int32(number))
    assert int(choice.iteration) == 1
    np.testing.assert_allclose(weights_of(choice.policy), [2.0])


def last_layer(policy):
    return np.asarray(policy.network.layers[-1].weight)


def states_with(averaging):
    """Of every seed, after each of some iterations."""
    agent = small_agent(settings=replace(SETTINGS, averaging=averaging))
    states = [agent.learn(done * STEP).state for done in range(1, 6)]
    return [[one_seed(state, seed) for state in states] for seed in range(SEEDS)]


def test_mobile_returns_a_mean_of_policies_if_asked_and_acts_as_without():
    best_at = []
    for single, mean in zip(states_with(None), states_with(0.0), strict=True):
        for one, other in zip(single, mean, strict=True):
            np.testing.assert_array_equal(last_layer(one.policy), last_layer(other.policy))
        # what acted: the first policy, and those that all iterations but the last made
        acted = [last_layer(single[0].average.policy), *(last_layer(x.policy) for x in single[:-1])]
        chosen = single[-1].chosen
        np.testing.assert_array_equal(last_layer(chosen.policy), acted[int(chosen.iteration)])

        values = [float(each.average.value) for each in mean]
        best_at.append(int(np.argmin(values)))
        chosen = mean[-1].chosen
        assert (int(chosen.iteration), float(chosen.value)) == (best_at[-1], min(values))
        expected = np.mean(acted[: best_at[-1] + 1], 0)
        np.testing.assert_allclose(last_layer(chosen.policy), expected, rtol=1e-5, atol=1e-8)
    assert max(best_at) > 0  # a mean of more than one


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_share_is_a_share(share):
    with pytest.raises(ValueError, match=r"averaging is .*must lie in \[0, 1\]"):
        replace(SETTINGS, averaging=share)
