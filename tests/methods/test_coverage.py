"""Which demonstrated states an agent has been near to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.methods.coverage import covered_share

KEY = jax.random.key(0)
VISITED = jnp.asarray(np.random.default_rng(0).normal(size=(800, 2)), jnp.float32)
ALL = jnp.ones(800, bool)


def drawn(mean, count=400):
    return jnp.asarray(np.random.default_rng(1).normal(mean, 1, size=(count, 2)), jnp.float32)


def test_states_from_the_same_distribution_are_covered_as_the_quantile_says():
    assert covered_share(VISITED, ALL, drawn(0.0), key=KEY) == pytest.approx(0.95, abs=0.04)


def test_states_elsewhere_are_not_covered():
    assert covered_share(VISITED, ALL, drawn(20.0), key=KEY) == 0


def test_half_of_them_elsewhere():
    both = jnp.concatenate([drawn(0.0), drawn(20.0)])
    assert covered_share(VISITED, ALL, both, key=KEY) == pytest.approx(0.475, abs=0.03)


def test_units_do_not_matter():
    scale = jnp.array([1000.0, 0.01])
    mine = covered_share(VISITED, ALL, drawn(1.0), key=KEY)
    scaled = covered_share(VISITED * scale, ALL, drawn(1.0) * scale, key=KEY)
    assert scaled == pytest.approx(float(mine), abs=0.01)


def test_what_was_not_visited_does_not_count():
    where = drawn(20.0, 800)
    half = jnp.concatenate([VISITED, where]), jnp.arange(1600) < 800
    assert covered_share(*half, drawn(20.0), key=KEY) == 0
    assert covered_share(half[0], jnp.ones(1600, bool), drawn(20.0), key=KEY) > 0.9


def test_nothing_visited_covers_nothing():
    assert covered_share(VISITED, jnp.zeros(800, bool), drawn(0.0), key=KEY) == 0
