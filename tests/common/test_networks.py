import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.networks import MLP, mlp


def draw(*sizes, activation=jax.nn.relu, seed=0) -> MLP:
    return mlp(*sizes, activation, key=jax.random.key(seed))


def by_hand(network: MLP, x: np.ndarray, activation) -> np.ndarray:
    """Row by row, sum by sum, in double precision."""
    for number, layer in enumerate(network.layers):
        weight, bias = np.asarray(layer.weight, np.float64), np.asarray(layer.bias, np.float64)
        x = np.array([sum(x[i] * weight[i, j] for i in range(len(x))) + bias[j]
                      for j in range(len(bias))])  # fmt: skip
        x = x if number == len(network.layers) - 1 else activation(x)
    return x


ACTIVATIONS = {"relu": (jax.nn.relu, lambda x: np.maximum(x, 0)), "tanh": (jnp.tanh, np.tanh)}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(3, 2, 7, 2), (3, 2, 5, 1), (4, 1, 9, 0), (1, 6, 1, 3)], ids=str)
def test_it_computes_what_numpy_computes(sizes, name):
    activation, in_numpy = ACTIVATIONS[name]
    network = draw(*sizes, activation=activation)
    rows = np.random.default_rng(0).normal(size=(6, sizes[0])).astype(np.float32)
    answers = jax.vmap(network)(rows)
    assert answers.shape == (6, sizes[1])
    assert answers.dtype == jnp.float32
    expected = [by_hand(network, row.astype(np.float64), in_numpy) for row in rows]
    np.testing.assert_allclose(answers, expected, rtol=1e-5, atol=1e-6)


def test_layers_lead_from_inputs_to_outputs():
    shapes = [(layer.weight.shape, layer.bias.shape) for layer in draw(3, 2, 7, 2).layers]
    assert shapes == [((3, 7), (7,)), ((7, 7), (7,)), ((7, 2), (2,))]
    assert [layer.weight.shape for layer in draw(3, 2, 7, 0).layers] == [(3, 2)]


def test_a_scalar_output_is_the_only_number_of_a_single_one():
    plain, scalar = draw(3, 1, 7, 2), draw(3, "scalar", 7, 2)
    x = jnp.array([0.3, -1.0, 2.0])
    assert plain(x).shape == (1,)
    assert scalar(x).shape == ()
    assert scalar(x) == plain(x)[0]


def test_first_weights_fill_the_range_that_the_inputs_of_a_layer_allow():
    """U(±1/√inputs): of so many draws the largest comes within a percent of the bound."""
    for layer, inputs in zip(draw(16, 300, 400, 1).layers, (16, 400), strict=True):
        drawn = np.sqrt(inputs) * np.asarray(layer.weight).ravel()
        for part in (drawn, np.sqrt(inputs) * np.asarray(layer.bias)):
            assert 0.98 < np.abs(part).max() <= 1
        for share in (0.1, 0.5, 0.9):  # a standard error is at most 0.5/√6400 of the mass
            assert np.quantile(drawn, share) == pytest.approx(2 * share - 1, abs=0.05)


def test_no_two_weights_are_the_same_draw():
    network = draw(3, 2, 8, 2)
    sizes = [3 if number == 0 else 8 for number in range(3)]
    drawn = np.concatenate(
        [
            np.sqrt(inputs) * np.concatenate([np.ravel(layer.weight), layer.bias])
            for inputs, layer in zip(sizes, network.layers, strict=True)
        ]
    )
    apart = np.diff(np.sort(drawn))
    assert len(drawn) == 4 * 8 + 9 * 8 + 9 * 2
    assert apart.min() > 1e-6


def test_same_key_same_bits():
    first, again, other = (draw(3, 2, 8, 2, seed=seed) for seed in (5, 5, 6))
    assert eqx.tree_equal(first, again)
    for one, another in zip(first.layers, other.layers, strict=True):
        assert (one.weight != another.weight).any()
