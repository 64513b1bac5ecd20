"""Latent actions on a grid world, where the four moves are what there is to find."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.common.spaces import DiscreteActions
from ilfo.dynamics.latent import LatentDynamics

SIZE = 7
MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
SPEC = LatentDynamics(optimiser=Adam(3e-3), plan=Passes(passes=60, batch_size=64))


def expert_move(cells: np.ndarray, generator) -> np.ndarray:
    """Towards the middle column with chance 0.7, the three other moves with 0.1 each."""
    towards = np.where(cells[:, 0] < SIZE // 2, 0, 1)
    others = (towards + generator.integers(1, 4, size=len(cells))) % 4
    return np.where(generator.random(len(cells)) < 0.7, towards, others)


@pytest.fixture(scope="module")
def steps() -> jnp.ndarray:
    generator = np.random.default_rng(0)
    cells = generator.integers(1, SIZE - 1, size=(1000, 2))
    after = cells + MOVES[expert_move(cells, generator)]
    return jnp.asarray(np.stack([cells, after], 1), jnp.float32)


@pytest.fixture(scope="module", params=[0, 1])
def fitted(request, steps):
    @eqx.filter_jit
    def run(key):
        first, second = jax.random.split(key)
        return SPEC.fit(SPEC.init(steps, DiscreteActions(4), key=first), steps, key=second)

    return run(jax.random.key(request.param))


def test_each_move_has_a_latent_action_of_its_own(fitted):
    """The same one wherever the move is made, nearly."""
    model = fitted[0].model
    cells = jnp.asarray([[x, y] for x in range(1, SIZE - 1) for y in range(1, SIZE - 1)], float)
    causes = np.array(
        [[model.explain(cell, cell + move) for move in MOVES.astype(float)] for cell in cells]
    )
    usual = np.array([np.bincount(column, minlength=4).argmax() for column in causes.T])
    assert len(set(usual.tolist())) == 4
    assert (causes == usual).mean() > 0.8


def test_the_latent_policy_takes_the_experts_causes(fitted):
    model = fitted[0].model
    for cell, move in (([1.0, 3.0], MOVES[0]), ([5.0, 3.0], MOVES[1])):
        state = jnp.asarray(cell)
        cause = model.explain(state, state + move)
        likely = jax.nn.softmax(model.policy.distribution(state).logits)
        assert int(jnp.argmax(likely)) == int(cause)
        assert likely[cause] == pytest.approx(0.7, abs=0.2)


def test_the_loss_falls(fitted, steps):
    state, log = fitted
    fresh = SPEC.init(steps, DiscreteActions(4), key=jax.random.key(0))
    assert SPEC.loss(state, steps) < 0.6 * SPEC.loss(fresh, steps)
    assert log["latent_loss"] == pytest.approx(float(SPEC.loss(state, steps)), rel=0.2)


def test_the_number_of_latent_actions():
    assert LatentDynamics().count(DiscreteActions(7)) == 7
    assert LatentDynamics(latents=3).count(DiscreteActions(7)) == 3
    with pytest.raises(ValueError, match="latents is 0, but must be at least 1"):
        LatentDynamics(latents=0)


def test_a_latent_action_that_starts_far_away_moves_only_where_the_minimum_is_relaxed(steps):
    """Without hidden layers, g(s, z) = A s + b + c_z: what never wins has no gradient for c_z."""
    far = (2, 0)  # of the weights: two inputs for the state, then one for each latent action
    moved = []
    for relax in (0.0, 0.05):
        spec = LatentDynamics(depth=0, relax=relax, optimiser=Adam(0.1), plan=Passes(20, 64))
        state = spec.init(steps, DiscreteActions(4), key=jax.random.key(0))
        weight = lambda state: state.model.network.layers[0].weight
        state = eqx.tree_at(weight, state, weight(state).at[far].set(100.0))
        fitted, _ = eqx.filter_jit(spec.fit)(state, steps, key=jax.random.key(1))
        moved.append(100.0 - float(weight(fitted)[far]))
    assert moved[0] == 0
    assert moved[1] > 5
