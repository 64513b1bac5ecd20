"""The inverse model on systems whose inverse is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Adam, Passes
from ilfo.common.spaces import BoxActions, DiscreteActions, MultiDiscreteActions
from ilfo.common.types import Transition
from ilfo.dynamics.inverse import HELD_OUT, InverseDynamics, InverseEnsemble, accuracy

BOX = BoxActions((-1.0, -2.0), (1.0, 2.0), (2,))
SPEC = InverseDynamics(width=32, optimiser=Adam(3e-3), plan=Passes(passes=40, batch_size=64))
A = jnp.array([[0.9, 0.1], [0.0, 0.8]])
INJECTIVE = jnp.array([[0.5, 0.2], [-0.1, 0.4]])
BLIND = jnp.array([[0.5, 0.0], [0.3, 0.0]])
"""The second action has no effect: nothing can tell what it was."""


def filled(actions, effect, count=1500) -> Buffer:
    """s' = A s + B a for actions at random; `effect` maps the encoded action to its push."""
    state_key, action_key = jax.random.split(jax.random.key(0))
    states = jax.random.normal(state_key, (count, 2))
    if isinstance(actions, DiscreteActions):
        taken = jax.random.randint(action_key, (count,), 0, actions.count)
    elif isinstance(actions, MultiDiscreteActions):
        taken = jax.random.randint(action_key, (count, 2), 0, jnp.array(actions.counts))
    else:
        taken = jax.random.uniform(action_key, (count, 2), minval=-1.0)
    pushes = jax.vmap(lambda a: effect(actions.encode(a)))(taken)
    new = Transition(states, taken, states @ A.T + pushes, jnp.zeros(count, bool))
    return Buffer.empty(Transition.zeros(2, actions), count, 1, 1).push(new, jnp.zeros(count, bool))


@eqx.filter_jit
def fitted(actions, buffer, spec=SPEC):
    state = spec.init(2, actions, key=jax.random.key(1))
    return spec.fit(state, buffer, key=jax.random.key(2))


def mean_confidence(model, buffer) -> float:
    seen = buffer.recent.items
    return float(jax.vmap(model.confidence)(seen.state, seen.next_state).mean())


def test_actions_of_an_injective_linear_system_are_recovered():
    buffer = filled(BOX, lambda a: INJECTIVE @ a)
    state, log = fitted(BOX, buffer)
    assert log["inverse_accuracy"] > 0.97
    fresh = jax.random.normal(jax.random.key(7), (50, 2))
    taken = jax.random.uniform(jax.random.key(8), (50, 2), minval=-0.9, maxval=0.9)
    inferred = jax.vmap(state.model.infer)(fresh, fresh @ A.T + taken @ INJECTIVE.T)
    np.testing.assert_allclose(inferred, taken, atol=0.25)
    assert np.abs(inferred - taken).mean() < 0.06
    assert mean_confidence(state.model, buffer) > 0.97


def test_an_action_without_effect_lowers_confidence_and_accuracy():
    buffer = filled(BOX, lambda a: BLIND @ a)
    state, log = fitted(BOX, buffer)
    # one of two dimensions is known, nothing of the other
    assert log["inverse_accuracy"] == pytest.approx(0.5, abs=0.1)
    assert mean_confidence(state.model, buffer) == pytest.approx(0.5, abs=0.1)


def test_discrete_actions_that_differ_in_effect_are_recovered():
    actions = DiscreteActions(3)
    pushes = jnp.array([[0.5, 0.0], [0.0, 0.5], [-0.5, 0.0]])
    buffer = filled(actions, lambda one_hot: one_hot @ pushes)
    state, log = fitted(actions, buffer)
    assert log["inverse_accuracy"] > 0.98
    assert mean_confidence(state.model, buffer) > 0.97


def test_discrete_actions_with_the_same_effect_share_the_confidence():
    """0 and 1 do the same, 2 does not: chance is right about half of the former."""
    actions = DiscreteActions(3)
    pushes = jnp.array([[0.5, 0.0], [0.5, 0.0], [-0.5, 0.0]])
    buffer = filled(actions, lambda one_hot: one_hot @ pushes)
    state, log = fitted(actions, buffer)
    assert log["inverse_accuracy"] == pytest.approx(2 / 3, abs=0.1)
    origin = jnp.zeros(2)
    assert state.model.confidence(origin, pushes[0]) < 0.75
    assert state.model.confidence(origin, pushes[2]) > 0.95
    probabilities = jax.nn.softmax(state.model.distribution(origin, pushes[0]).logits)
    np.testing.assert_allclose(probabilities, [0.5, 0.5, 0.0], atol=0.2)


@pytest.mark.parametrize("ensemble", [False, True])
def test_every_entry_of_a_vector_of_discrete_actions_is_recovered(ensemble):
    actions = MultiDiscreteActions((3, 2), (0, 0), (2,))
    pushes = jnp.array([[0.5, 0.0], [0.0, 0.0], [-0.5, 0.0], [0.0, 0.3], [0.0, -0.3]])
    buffer = filled(actions, lambda one_hots: one_hots @ pushes, 600)
    taken = jnp.array([[a, b] for a in range(3) for b in range(2)])
    states = jax.random.normal(jax.random.key(5), (6, 2))
    reached = states @ A.T + jax.vmap(actions.encode)(taken) @ pushes
    if ensemble:
        _, model, log = fitted(actions, buffer, InverseEnsemble(SPEC, members=2))
    else:
        state, log = fitted(actions, buffer)
        model = state.model
        assert mean_confidence(model, buffer) > 0.95
    assert log["inverse_accuracy"] > 0.95
    np.testing.assert_array_equal(jax.vmap(model.infer)(states, reached), taken)
    entries = model.distribution(states[0], reached[0]).entries
    assert [float(jax.nn.softmax(entry.logits).sum()) for entry in entries] == pytest.approx([1, 1])


def test_what_is_held_out_is_never_trained_on():
    """Wrong labels in the held-out places leave the network as it is."""
    actions = DiscreteActions(2)
    buffer = filled(actions, lambda one_hot: one_hot @ jnp.array([[0.5, 0.0], [-0.5, 0.0]]), 300)
    labels = buffer.recent.items.action
    aside = jnp.arange(300) % HELD_OUT == 0
    wrong = eqx.tree_at(
        lambda b: b.recent.items.action, buffer, jnp.where(aside, 1 - labels, labels)
    )
    (right_state, right_log), (wrong_state, wrong_log) = (
        fitted(actions, item) for item in (buffer, wrong)
    )
    for mine, other in zip(
        jax.tree.leaves(right_state.model.network),
        jax.tree.leaves(wrong_state.model.network),
        strict=True,
    ):
        if eqx.is_array(mine):
            np.testing.assert_array_equal(mine, other)
    assert right_log["inverse_accuracy"] > 0.95
    assert wrong_log["inverse_accuracy"] == pytest.approx(1 - right_log["inverse_accuracy"])


def test_accuracy_by_hand():
    model = fitted(BOX, filled(BOX, lambda a: INJECTIVE @ a, 200))[0].model
    states = jnp.zeros((4, 2))
    inferred = model.infer(states[0], states[0])
    actions = inferred + jnp.array([[0.1, 0.0], [-0.1, 0.0], [0.3, 0.0], [9.0, 9.0]])
    valid = jnp.array([True, True, True, False])
    actual = accuracy(model, Transition(states, actions, states, valid), valid)
    errors, centred = np.array([0.1, -0.1, 0.3]), np.array([0.0, -0.2, 0.2])
    np.testing.assert_allclose(actual, 1 - (errors**2).sum() / (centred**2).sum(), rtol=1e-3)
