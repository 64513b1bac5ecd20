"""Fully connected networks."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def mlp(
    inputs: int,
    outputs: int | Literal["scalar"],
    width: int,
    depth: int,
    activation: Callable[[Array], Array] = jax.nn.relu,
    *,
    key: Array,
) -> eqx.nn.MLP:
    """`eqx.nn.MLP` with its usual first weights, U(±1/√inputs of the layer), from a single draw.

    A draw per layer, as Equinox does it, makes compiling the draws take longer than compiling
    what is done with the networks.
    """
    build = lambda key: eqx.nn.MLP(inputs, outputs, width, depth, activation, key=key)
    shapes = eqx.filter_eval_shape(build, key)
    arrays = lambda net: [leaf for layer in net.layers for leaf in (layer.weight, layer.bias)]
    sizes = [leaf.size for leaf in arrays(shapes)]
    draw = jax.random.uniform(key, (sum(sizes),), minval=-1.0, maxval=1.0)
    parts = jnp.split(draw, np.cumsum(sizes)[:-1])
    fan_in = [layer.weight.shape[1] for layer in shapes.layers for _ in range(2)]
    filled = [
        (part / np.sqrt(n)).reshape(leaf.shape)
        for part, n, leaf in zip(parts, fan_in, arrays(shapes), strict=True)
    ]
    return eqx.tree_at(arrays, shapes, filled)
