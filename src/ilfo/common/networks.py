"""Fully connected networks.

Weights are stored as (inputs, outputs). Equinox stores them as (outputs, inputs), which XLA
multiplies at half the speed for the small batches of a rollout in a model.
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
    """A linear layer with bias."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        return x @ self.weight + self.bias


class MLP(eqx.Module):
    """A fully connected network; `mlp` makes one."""

    layers: tuple[Linear, ...]
    activation: Callable[[Array], Array]
    scalar: bool
    """Return the single output without an axis."""

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " *outputs"]:
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        x = self.layers[-1](x)
        return x.squeeze(-1) if self.scalar else x  # the gradient of x[0] is a scatter


def mlp(
    inputs: int,
    outputs: int | Literal["scalar"],
    width: int,
    depth: int,
    activation: Callable[[Array], Array] = jax.nn.relu,
    *,
    key: Array,
) -> MLP:
    """A network of `depth` hidden layers of `width` units, initialised U(±1/√inputs of the layer).

    All weights come from a single random draw, because compiling one draw per layer takes longer
    than compiling the use of the networks.
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
