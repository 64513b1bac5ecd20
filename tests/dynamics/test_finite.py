import math

import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions
from ilfo.common.types import Transition
from ilfo.dynamics.finite import FiniteDynamics
from tests.helpers.transitions import fit_all

BOX = BoxActions((-1.0,), (1.0,), (1,))


def constant(parameters, state, action):
    return parameters + 0 * state


def steps(mean, noise, count, seed=0):
    rng = np.random.default_rng(seed)
    following = (mean + noise * rng.normal(size=(count, 1))).astype(np.float32)
    zeros = np.zeros((count, 1), np.float32)
    return Transition(zeros, zeros, following, np.zeros(count, bool))


def test_least_squares_member_and_version_space_by_hand():
    """Constants 0, 0.1, …, 0.9; 50 steps of mean 0.3 and noise 0.2."""
    members = tuple((i / 10,) for i in range(10))
    data = steps(0.3, 0.2, 50)
    spec = FiniteDynamics(constant, members, noise=0.2, delta=0.1)
    model = fit_all(spec, BOX, data).model
    best = np.abs(np.arange(10) / 10 - data.next_state.mean()).argmin()
    assert int(model.best) == best
    radius = 8 * 0.04 * math.log(math.pi**2 * 10 / 0.6)
    inside = [50 * ((i - best) / 10) ** 2 <= radius for i in range(10)]
    assert 1 < sum(inside) < 10
    np.testing.assert_array_equal(model.possible, inside)
    widest = max(i for i in range(10) if inside[i]) - min(i for i in range(10) if inside[i])
    uncertainty = model.uncertainty(jnp.zeros(1), jnp.zeros(1))
    assert uncertainty == pytest.approx(widest / 10 / 0.2, rel=1e-5)
    assert model.mean(jnp.zeros(1), jnp.zeros(1)) == pytest.approx(best / 10)


def test_the_papers_radius_by_hand():
    """t = 2 fits; it shrinks with the largest prediction, which the corrected one ignores."""
    members = tuple((i / 100,) for i in range(10))
    data = steps(0.03, 0.2, 40)
    half = [Transition(*(x[part] for x in data)) for part in (slice(0, 20), slice(20, 40))]
    spec = FiniteDynamics(constant, members, noise=0.2, delta=0.1, radius="paper", largest=0.1)
    model = fit_all(spec, BOX, *half).model
    radius = 2 * 0.04 * 0.01 * math.log(2 * 4 * 10 / 0.1)
    inside = [40 * ((i - int(model.best)) / 100) ** 2 <= radius for i in range(10)]
    np.testing.assert_array_equal(model.possible, inside)
    corrected = fit_all(FiniteDynamics(constant, members, noise=0.2), BOX, *half).model
    assert corrected.possible.sum() > model.possible.sum()


def test_members_outside_the_version_space_do_not_make_uncertain():
    """The maximum runs over G_t, not G: a member far away is excluded by the data."""
    members = ((0.0,), (0.01,), (100.0,))
    before = FiniteDynamics(constant, members).init(1, BOX, key=None).model
    assert before.uncertainty(jnp.zeros(1), jnp.zeros(1)) == pytest.approx(1000)
    after = fit_all(FiniteDynamics(constant, members), BOX, steps(0.0, 0.1, 10)).model
    assert after.uncertainty(jnp.zeros(1), jnp.zeros(1)) == pytest.approx(0.1, rel=1e-3)


def test_unknown_radius_is_named():
    with pytest.raises(ValueError, match="radius is 'mine'"):
        FiniteDynamics(constant, ((0.0,),), radius="mine")
