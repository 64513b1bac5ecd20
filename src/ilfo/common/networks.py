"""Fully connected networks.

Equinox has them too, but keeps weights as (outputs, inputs). Beside a batch of a few rows, which
is what a rollout in a model consists of, XLA multiplies such a matrix at half the speed.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Linear(eqx.Module):
    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        return x @ self.weight + self.bias


class MLP(eqx.Module):
    layers: tuple[Linear, ...]
    activation: Callable[[Array], Array]
    scalar: bool
    """The single output comes without an axis."""

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " *outputs"]:
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        x = self.layers[-1](x)
        return x[0] if self.scalar else x


def mlp(
    inputs: int,
    outputs: int | Literal["scalar"],
    width: int,
    depth: int,
    activation: Callable[[Array], Array] = jax.nn.relu,
    *,
    key: Array,
) -> MLP:
    """`depth` hidden layers of `width` units; first weights are U(±1/√inputs of the layer).

    All come from a single draw: compiling one draw per layer takes longer than compiling what is
    done with the networks.
    """
    sizes = (inputs, *(width,) * depth, 1 if outputs == "scalar" else outputs)
    lengths = [(rows + 1) * columns for rows, columns in pairwise(sizes)]
    draws = jax.random.uniform(key, (sum(lengths),), minval=-1.0, maxval=1.0)
    parts = jnp.split(draws, np.cumsum(lengths)[:-1])
    layers = []
    for part, (rows, columns) in zip(parts, pairwise(sizes), strict=True):
        table = (part / np.sqrt(rows)).reshape(rows + 1, columns)
        layers.append(Linear(table[:rows], table[rows]))
    return MLP(tuple(layers), activation, outputs == "scalar")
