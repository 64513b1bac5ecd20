import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.dynamics.tabular import TabularDynamics
from tests.helpers.transitions import fit_all, one_hot_steps, rows

TWO = DiscreteActions(2)


def by_counting(steps, states=4, actions=2):
    counts = np.zeros((states, actions, states))
    np.add.at(counts, (steps.state.argmax(1), steps.action, steps.next_state.argmax(1)), 1)
    return counts


def test_estimate_is_the_share_of_each_next_state():
    steps = one_hot_steps()
    model = fit_all(TabularDynamics(), TWO, rows(steps, slice(0, 7)), rows(steps, slice(7, 60)))
    counts = by_counting(steps)
    np.testing.assert_array_equal(model.model.counts, counts)
    shares = counts / counts.sum(-1, keepdims=True)
    np.testing.assert_allclose(model.model.transitions, shares, rtol=1e-6)
    mean = model.model.mean(jnp.eye(4)[2], jnp.array(1))
    np.testing.assert_allclose(mean, shares[2, 1], rtol=1e-6)


@pytest.mark.parametrize("form", ["paper", "weissman"])
def test_nothing_seen_gives_two_and_a_uniform_estimate(form):
    model = TabularDynamics(form=form).init(5, TWO, key=jax.random.key(0)).model
    assert (model.widths == 2).all()
    assert model.uncertainty(jnp.eye(5)[0], jnp.array(0)) == 2
    np.testing.assert_allclose(model.transitions, 0.2)


def test_both_constants_by_hand():
    """After two fits, 800 steps from one pair of S = 2, A = 2, δ = 0.1."""
    steps = one_hot_steps(800, states=2)
    steps = steps._replace(
        state=np.eye(2, dtype=np.float32)[np.zeros(800, int)], action=np.zeros(800, np.int32)
    )
    portions = rows(steps, slice(0, 400)), rows(steps, slice(400, 800))
    paper = fit_all(TabularDynamics(), TWO, *portions).model.widths
    assert paper[0, 0] == pytest.approx(math.sqrt(2 * math.log(4 * 4 / 0.1) / 800), rel=1e-5)
    weissman = fit_all(TabularDynamics(form="weissman"), TWO, *portions).model.widths
    likely = math.log(2 * math.pi**2 * 800**2 * 4 / (6 * 0.1))
    assert weissman[0, 0] == pytest.approx(math.sqrt(2 * likely / 800), rel=1e-5)
    assert paper[1, 1] == weissman[1, 1] == 2


def test_samples_follow_the_estimate():
    steps = one_hot_steps(400)
    model = fit_all(TabularDynamics(), TWO, steps).model
    draw = jax.jit(jax.vmap(lambda key: model.sample(jnp.eye(4)[1], jnp.array(1), key=key)))
    drawn = draw(jax.random.split(jax.random.key(0), 5000))
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_allclose(drawn.mean(0), model.mean(jnp.eye(4)[1], jnp.array(1)), atol=0.03)


def test_actions_must_be_countable():
    with pytest.raises(ValueError, match="needs Discrete actions"):
        TabularDynamics().init(3, BoxActions((-1.0,), (1.0,), (1,)), key=jax.random.key(0))


def test_unknown_constants_are_named():
    with pytest.raises(ValueError, match="form is 'mine'"):
        TabularDynamics(form="mine")
