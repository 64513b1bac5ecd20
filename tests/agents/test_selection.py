"""Which policy is returned: the nearest so far, or the newest that is tied with it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.agents.selection import Choice
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Normaliser
from ilfo.policies.mlp import MLPPolicy

ACTIONS = {"discrete": DiscreteActions(3), "real": BoxActions((-1.0,), (1.0,), (1,))}


def policies(actions, count):
    """Policies whose every weight is the number of the policy, from 1 on."""
    normaliser = Normaliser.identity(2)
    first = MLPPolicy(width=4, depth=1).init(2, actions, normaliser, key=jax.random.key(0))
    fill = lambda n: jax.tree.map(
        lambda x: jnp.full_like(x, n) if eqx.is_inexact_array(x) else x, first
    )
    return [fill(float(n)) for n in range(1, count + 1)]


def weights_of(policy):
    return np.unique(
        np.concatenate(
            [np.ravel(x) for x in jax.tree.leaves(eqx.filter(policy.network, eqx.is_array))]
        )
    )


def test_the_lowest_value_wins_and_the_first_of_equals_stays():
    given = policies(ACTIONS["real"], 4)
    choice = Choice.none_yet(given[0])
    for number, (policy, value) in enumerate(zip(given, [3.0, 2.0, 2.0, 5.0], strict=True)):
        choice = choice.or_better(policy, jnp.float32(value), jnp.int32(number))
    assert int(choice.iteration) == 1
    np.testing.assert_allclose(weights_of(choice.policy), [2.0])


def offered(values, noise):
    """The iteration chosen after each of these distances, with ties within the noise."""
    given = policies(ACTIONS["real"], len(values))
    choice, chosen = Choice.none_yet(given[0]), []
    for number, (policy, value) in enumerate(zip(given, values, strict=True)):
        choice = choice.or_tied(policy, jnp.float32(value), jnp.int32(number), jnp.float32(noise))
        chosen.append(int(choice.iteration))
        np.testing.assert_allclose(weights_of(choice.policy), [chosen[-1] + 1.0])
    return chosen


def test_the_newest_of_those_that_noise_cannot_tell_apart_wins():
    # 0.32² = 0.1024 is within 0.3² + 0.04 = 0.13, and 0.4² = 0.16 is not
    assert offered([0.5, 0.3, 0.32, 0.4, 0.31], noise=0.04) == [0, 1, 2, 2, 4]
    assert offered([0.5, 0.3, 0.32, 0.4, 0.31], noise=0.0) == [0, 1, 1, 1, 1]


def test_ties_do_not_add_up():
    """Each is tied with the one before, but not with the nearest of all."""
    assert offered([0.30, 0.35, 0.40, 0.45], noise=0.04) == [0, 1, 1, 1]


def test_a_choice_tells_its_own_value_and_the_smallest():
    given = policies(ACTIONS["real"], 2)
    choice = Choice.none_yet(given[0])
    for number, value in enumerate([0.30, 0.35]):
        choice = choice.or_tied(
            given[number], jnp.float32(value), jnp.int32(number), jnp.float32(0.04)
        )
    assert int(choice.iteration) == 1
    np.testing.assert_allclose([choice.value, choice.smallest], [0.35, 0.30])
