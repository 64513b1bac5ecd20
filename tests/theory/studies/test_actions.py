import jax
import jax.numpy as jnp
import numpy as np

from ilfo.theory.studies.actions import clone, cloning_regret

KEYS = jax.random.split(jax.random.key(0))
BEST = jnp.arange(400) % 4
MEANS = 0.5 * jax.nn.one_hot(BEST, 4)


def test_a_clone_repeats_what_was_demonstrated():
    assert clone(jnp.array(0), jnp.array(2), 4).tolist() == [2]


def test_a_clone_of_the_best_arm_has_no_regret():
    np.testing.assert_array_equal(cloning_regret(MEANS, jax.nn.one_hot(BEST, 4), 16, *KEYS), 0)


def test_a_clone_of_a_random_expert_loses_the_gap_in_three_of_four_cases():
    """In all rounds or in none: the clone never changes its mind."""
    lost = np.asarray(cloning_regret(MEANS, jnp.full((400, 4), 0.25), 16, *KEYS))
    assert set(lost.tolist()) == {0.0, 8.0}
    assert abs((lost > 0).mean() - 0.75) < 0.07
