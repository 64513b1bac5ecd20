from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.fitting import SGD, Adam, Passes
from ilfo.common.networks import MLP, Linear
from ilfo.common.spaces import BoxActions, DiscreteActions
from ilfo.common.types import Normaliser, Transition
from ilfo.dynamics.ensemble import Ensemble, EnsembleDynamics

A = np.array([[1.0, 0.1], [-0.2, 0.95]], np.float32)
B = np.array([[0.0], [0.3]], np.float32)
BOX = BoxActions((-1.0,), (1.0,), (1,))


def linear_system(count, noise=(0.0, 0.0), seed=0) -> Transition:
    """s' = A s + B a + ε in units that differ a thousandfold between the dimensions."""
    rng = np.random.default_rng(seed)
    state = rng.uniform(-1, 1, (count, 2))
    action = rng.uniform(-1, 1, (count, 1))
    following = state @ A.T + action @ B.T + noise * rng.normal(size=state.shape)
    units = np.array([1.0, 1000.0])
    columns = (state * units, action, following * units)
    return Transition(*(x.astype(np.float32) for x in columns), np.zeros(count, bool))


def remember(new: Transition, capacity=None) -> Buffer:
    one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), new)
    count = len(new.terminal)
    return _push(Buffer.empty(one, capacity or count, 2, 2), new, np.zeros(count, bool))


def init(spec, dim=2, actions=BOX, key=0):
    return _init(spec, dim, actions, jax.random.key(key))


def fit(spec, new, actions=BOX, state=None, key=1, capacity=None):
    if state is None:
        state = init(spec, new.state.shape[1], actions)
    return _fit(spec, state, new, remember(new, capacity), jax.random.key(key))


_push = eqx.filter_jit(lambda buffer, new, start: buffer.push(new, start))
_init = eqx.filter_jit(lambda spec, dim, actions, key: spec.init(dim, actions, key=key))
_fit = eqx.filter_jit(lambda spec, state, new, buffer, key: spec.fit(state, new, buffer, key=key))


# One setting for two data sets, so that it is compiled once.
LEARNER = EnsembleDynamics(
    members=3,
    width=32,
    depth=1,
    stochastic=True,
    optimiser=Adam(3e-3),
    plan=Passes(passes=40, batch_size=32),
)


@pytest.fixture(scope="module")
def learned():
    """Three members fitted on a linear system without noise, as a deterministic model."""
    state, log = fit(LEARNER, linear_system(600))
    return eqx.tree_at(lambda m: m.noise, state.model, None), log


def test_a_linear_system_is_learned_to_a_small_error(learned):
    model, log = learned
    test = linear_system(200, seed=1)
    predicted = jax.vmap(model.mean)(test.state, test.action)
    error = np.sqrt(((predicted - test.next_state) ** 2).mean(0))
    moved = np.sqrt(((test.next_state - test.state) ** 2).mean(0))
    assert (error < 0.05 * moved).all()
    assert log["model_loss"] < 0.05**2


def test_uncertainty_is_higher_away_from_the_data_than_on_it(learned):
    model, _ = learned
    seen = linear_system(100)
    ask = jax.vmap(model.uncertainty)
    assert np.median(ask(5 * seen.state, seen.action)) > 3 * np.median(ask(seen.state, seen.action))


ASKED = jnp.array([0.3, -400.0]), jnp.array([0.5])


def test_a_member_is_the_one_that_was_named(learned):
    model, _ = learned
    means = model.means(*ASKED)
    assert model.members == len(means) == 3
    assert means.shape == (3, 2)
    assert len(np.unique(means, axis=0)) == 3
    for index in range(3):
        one = model.member(jnp.array(index))
        assert one.members == 1
        for answer in (one.mean(*ASKED), one.sample(*ASKED, key=jax.random.key(index))):
            np.testing.assert_allclose(answer, means[index], rtol=1e-6)
        assert one.uncertainty(*ASKED) == 0
    np.testing.assert_allclose(model.mean(*ASKED), means.mean(0), rtol=1e-6)


def test_an_ensemble_draws_its_members_with_equal_chances(learned):
    model, _ = learned
    keys = jax.random.split(jax.random.key(0), 3000)
    drawn = np.asarray(jax.vmap(lambda key: model.sample(*ASKED, key=key))(keys))
    means = np.asarray(model.means(*ASKED))
    nearest = np.linalg.norm(drawn[:, None] - means, axis=-1).argmin(1)
    np.testing.assert_allclose(drawn, means[nearest], rtol=1e-6)
    # a standard error is √(3000 · 1/3 · 2/3) = 26
    np.testing.assert_allclose(np.bincount(nearest, minlength=3), 1000, atol=4 * 26)


def affine(offsets: np.ndarray) -> Ensemble:
    """Members without hidden layers that answer s + scale · offset, whatever the input."""
    members, dim = offsets.shape
    layer = Linear(jnp.zeros((members, dim + 1, dim)), jnp.asarray(offsets))
    networks = MLP((layer,), jax.nn.relu, scalar=False)
    scales = Normaliser(jnp.array([0.5, 0.0]), jnp.array([1.0, 10.0]))
    return Ensemble(networks, BOX, Normaliser.identity(dim + 1), scales, None)


def test_uncertainty_is_the_largest_distance_between_two_members():
    model = affine(np.array([[0.0, 0.0], [3.0, 0.4], [-1.0, 0.0], [3.0, 0.0]], np.float32))
    state, action = jnp.array([7.0, 8.0]), jnp.zeros(1)
    # in raw units the members stand at (0, 0), (3, 4), (-1, 0), (3, 0), shifted by (0.5, 0)
    np.testing.assert_allclose(
        model.means(state, action), [[7.5, 8], [10.5, 12], [6.5, 8], [10.5, 8]], rtol=1e-6
    )
    raw = eqx.tree_at(lambda m: m.scaled, model, False)
    assert raw.uncertainty(state, action) == pytest.approx(np.hypot(4, 4), rel=1e-6)
    # in units of a step, 1 and 10, they stand at (0, 0), (3, 0.4), (-1, 0), (3, 0)
    assert model.uncertainty(state, action) == pytest.approx(np.hypot(4, 0.4), rel=1e-6)


# A learning rate of zero leaves the weights where a fit found them.
FROZEN = {"width": 8, "depth": 0, "optimiser": SGD(0.0), "plan": Passes(passes=1, batch_size=64)}


def weights(state):
    return eqx.filter(state.model.networks, eqx.is_array)


def test_a_warm_start_goes_on_from_the_last_weights():
    spec = EnsembleDynamics(**FROZEN)
    before = init(spec)
    after, _ = fit(spec, linear_system(50), state=before, capacity=80)
    assert eqx.tree_equal(weights(before), weights(after))


def test_from_scratch_draws_new_weights_and_forgets_the_old():
    spec = EnsembleDynamics(warm_start=False, **FROZEN)
    first, _ = fit(spec, linear_system(64), state=init(spec, key=0))
    other, _ = fit(spec, linear_system(64), state=init(spec, key=9))
    again, _ = fit(spec, linear_system(64), state=init(spec, key=0), key=5)
    assert not eqx.tree_equal(weights(first), weights(init(spec, key=0)))
    assert eqx.tree_equal(first, other)
    assert not eqx.tree_equal(weights(first), weights(again))


def test_statistics_come_from_the_valid_part_of_the_buffer():
    new = linear_system(50)
    spec = EnsembleDynamics(**FROZEN)
    model = fit(spec, new, capacity=80)[0].model
    x, difference = np.concatenate([new.state, new.action], 1), new.next_state - new.state
    np.testing.assert_allclose(model.inputs.shift, x.mean(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.inputs.scale, x.std(0), rtol=1e-4)
    np.testing.assert_allclose(model.differences.shift, difference.mean(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.differences.scale, difference.std(0), rtol=1e-4)


def test_one_member_is_never_uncertain():
    model = init(EnsembleDynamics(members=1, **FROZEN)).model
    states = 100 * np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    np.testing.assert_array_equal(jax.vmap(model.uncertainty)(states, np.zeros((20, 1))), 0)


def test_the_noise_of_a_stochastic_model_is_that_of_the_system():
    noise = np.array([0.05, 0.2])
    model = fit(LEARNER, linear_system(600, noise))[0].model
    units = np.array([1.0, 1000.0])
    np.testing.assert_allclose(model.noise, noise * units, rtol=0.15)

    state, action = jnp.array([0.1, 200.0]), jnp.array([0.3])
    keys = jax.random.split(jax.random.key(0), 4000)
    one = model.member(jnp.array(1))
    drawn = jax.vmap(lambda key: one.sample(state, action, key=key))(keys)
    own = model.means(state, action)[1]
    # standard errors: 1/√4000 of the noise for the mean, 1/√8000 for the standard deviation
    np.testing.assert_allclose((drawn.mean(0) - own) / model.noise, 0, atol=4 / 4000**0.5)
    np.testing.assert_allclose(drawn.std(0) / model.noise, 1, atol=4 / 8000**0.5)


def test_noise_is_told_from_errors_of_the_fit_dimension_by_dimension():
    spec = replace(LEARNER, stochastic=None)
    state, log = fit(spec, linear_system(600, noise=np.array([0.0, 0.2])))
    model = state.model
    np.testing.assert_allclose(model.noise, [0, 200], rtol=0.15)
    share = 0.5 * float(model.noise[1] / model.differences.scale[1]) ** 2
    assert log["model_noise"] == pytest.approx(share, rel=1e-5)

    unfitted, log = fit(spec, linear_system(30))
    assert (unfitted.model.noise == 0).all()
    assert log["model_loss"] > 0.01
    assert log["model_noise"] == 0


def test_one_member_alone_does_not_know_noise_from_errors():
    assert init(EnsembleDynamics(members=1, **FROZEN)).model.noise is None


def test_a_member_of_a_deterministic_model_ignores_the_key():
    model = init(EnsembleDynamics(stochastic=False, **FROZEN)).model
    one = model.member(jnp.array(0))
    draw = lambda seed: one.sample(jnp.zeros(2), jnp.zeros(1), key=jax.random.key(seed))
    assert model.noise is None
    np.testing.assert_array_equal(draw(0), draw(1))


def test_discrete_actions_enter_as_one_hot_vectors():
    """Weights that pick the action's own row: action a moves the state by moves[a]."""
    actions, moves = DiscreteActions(3), jnp.array([0.0, 5.0, -5.0])
    weight = jnp.concatenate([jnp.zeros(1), moves])[:, None]
    layer = Linear(weight[None], jnp.zeros((1, 1)))
    networks = MLP((layer,), jax.nn.relu, scalar=False)
    model = Ensemble(networks, actions, Normaliser.identity(4), Normaliser.identity(1), None)
    reached = jax.vmap(model.mean, in_axes=(None, 0))(jnp.array([2.0]), jnp.arange(3))
    np.testing.assert_allclose(reached[:, 0], [2, 7, -3])


def test_a_dimension_that_was_constant_may_differ_a_little():
    """States before a step were 0 in the second dimension; what the model predicts is not quite."""
    new = linear_system(200)
    new = new._replace(state=new.state * [1.0, 0.0])
    (state, _) = fit(LEARNER, new)
    predict = jax.vmap(state.model.mean)
    off = new.state + np.array([0.0, 1e-3], np.float32)
    moved = predict(off, new.action) - predict(new.state, new.action)
    assert np.abs(moved / new.next_state.std(0)).max() < 0.05
