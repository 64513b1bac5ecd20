"""Minibatch regression with early stopping, shared by all learned components, and its optimisers.

All loops have fixed lengths, so that one compiled function serves every iteration and seed.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from ilfo.common.types import Normaliser
from ilfo.common.validation import require_at_least, require_positive, require_share


class AbstractOptimiser(eqx.Module):
    """Settings of an optimiser."""

    @abc.abstractmethod
    def build(self) -> optax.GradientTransformation:
        """The optimiser itself."""


class SGD(AbstractOptimiser):
    """Stochastic gradient descent with Nesterov momentum, as in the paper."""

    learning_rate: float = 0.005
    """Step size."""
    momentum: float = 0.99
    """Momentum coefficient."""

    def __post_init__(self):
        require_at_least(self, 0, "learning_rate")
        require_share(self, "momentum")

    def build(self):
        return optax.sgd(self.learning_rate, self.momentum, nesterov=True)


class Adam(AbstractOptimiser):
    """Adam, with optional L2 regularisation."""

    learning_rate: float = 1e-3
    """Step size."""
    epsilon: float = 1e-8
    """Added to the denominator of Adam's update."""
    regularisation: float = 0.0
    """L2 regularisation: weight of half the squared norm of the parameters in the loss. Input
    normalisers are not regularised."""

    def __post_init__(self):
        require_at_least(self, 0, "learning_rate", "regularisation")
        require_positive(self, "epsilon")

    def build(self):
        adam = optax.adam(self.learning_rate, eps=self.epsilon)
        if not self.regularisation:
            return adam
        return optax.chain(optax.add_decayed_weights(self.regularisation, _trained), adam)


def _trained(params: PyTree) -> PyTree:
    """True for trained parameters, False for the arrays of a normaliser, which are stored beside
    the network but have no gradient and must not decay."""
    is_normaliser = lambda node: isinstance(node, Normaliser)
    return jax.tree.map(
        lambda node: jax.tree.map(lambda _: not is_normaliser(node), node),
        params,
        is_leaf=is_normaliser,
    )


class Passes(eqx.Module):
    """Number of passes over the data, batch size and early stopping."""

    passes: int = 20
    """Passes over the data per fit. A partly filled buffer gets as many gradient steps as a full
    one, because compiled loops have fixed lengths."""
    batch_size: int = 256
    """Rows per gradient step."""
    held_out: float = 0.0
    """Share of the data held out to evaluate each pass; 0 trains on everything."""
    patience: int = 0
    """Stop after this many passes without a lower held-out loss and return to the best pass;
    0 never stops early."""
    averaged: bool = False
    """Return the mean of the weights after each pass of the second half, not those after the last:
    minibatches then leave less noise in them."""

    def __post_init__(self):
        require_at_least(self, 1, "passes", "batch_size")
        require_at_least(self, 0, "patience")
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out is {self.held_out}, but must lie in [0, 1)")
        if self.patience and not self.held_out:
            raise ValueError(
                f"patience={self.patience} needs a held-out loss, but held_out={self.held_out}; "
                "set held_out to a share in (0, 1), or patience to 0"
            )
        if self.averaged and self.held_out:
            raise ValueError(
                "averaged returns a mean over passes and held_out judges single ones; use one of "
                "them: averaged=False, or held_out=0"
            )


def shuffled_valid(valid: Bool[Array, " n"], *, key: Array) -> Int[Array, " n"]:
    """All row indices, the valid ones first and in random order."""
    return shuffles(valid[None], key[None])[0]


def shuffles(valid: Bool[Array, "k n"], keys: Array) -> Int[Array, "k n"]:
    """For each key, all row indices, the valid ones first and in random order.

    Shuffles that are computed together share one generator and one sort, which take longer to
    compile than to run.

    Sorts random words whose low bits hold the row index. Sorting one array is ten times as fast
    as sorting the key-value pairs of `jax.random.permutation`, which took as long as training a
    small network. Rows with equal random bits keep their order.
    """
    count = valid.shape[1]
    low = (count - 1).bit_length()
    invalid = (~valid).astype(jnp.uint32) << 31
    random = jax.vmap(lambda key: jax.random.bits(key, (count,)))(keys) >> (low + 1) << low
    rows = jnp.arange(count, dtype=jnp.uint32)
    return (jnp.sort(invalid | random | rows) & ((1 << low) - 1)).astype(jnp.int32)


class Dataset(NamedTuple):
    """Rows to learn from."""

    rows: PyTree
    """Arrays with one row per example."""
    valid: Bool[Array, " n"]
    """False for rows to ignore, such as the empty part of a buffer."""
    per_pass: int | None = None
    """Rows of a pass, drawn anew for each; None for as many as there are."""

    @property
    def size(self) -> int:
        """Rows of a pass."""
        capacity = self.valid.shape[0]
        return capacity if self.per_pass is None else min(self.per_pass, capacity)


def fit(
    loss: Callable[[Any, PyTree, Float[Array, " b"]], Float[Array, ""]],
    model: Any,
    optimiser_state: PyTree,
    optimiser: optax.GradientTransformation,
    data: Dataset,
    plan: Passes,
    *,
    key: Array,
) -> tuple[Any, PyTree, Float[Array, ""]]:
    """Minimise `loss(model, rows, weight)` by minibatch passes over the valid rows of `data`.

    Returns the model, the optimiser's state and the loss: that of the held-out rows if there are
    any, else the mean over the last pass.
    """
    valid = data.valid
    capacity = valid.shape[0]
    batch = min(plan.batch_size, data.size)
    batches = data.size // batch
    order_key, pass_key = jax.random.split(key)
    keys = jnp.concatenate([order_key[None], jax.random.split(pass_key, plan.passes)])
    for_pass = (jnp.arange(1 + plan.passes) > 0)[:, None]
    shuffled = shuffles(valid | for_pass, keys)
    order, per_pass = shuffled[0], shuffled[1:, : batches * batch]
    count = jnp.maximum(valid.sum(), 1)
    aside = (plan.held_out * count).astype(jnp.int32)
    if plan.held_out:  # without any held-out row the loss would be 0 after every pass
        aside = jnp.clip(aside, 1, count - 1)
    judged = order[: max(int(plan.held_out * capacity), 1)]
    judged_weight = (jnp.arange(judged.shape[0]) < aside).astype(jnp.float32)
    rows = lambda index: jax.tree.map(lambda x: x[index], data.rows)

    params, static = eqx.partition(model, eqx.is_inexact_array)
    ones = jnp.ones(batch)

    def step(carry, rows):
        params, state = carry
        value, grad = jax.value_and_grad(lambda p: loss(eqx.combine(p, static), rows, ones))(params)
        update, state = optimiser.update(grad, state, params)
        return (optax.apply_updates(params, update), state), value

    def one_pass(carry, shuffle):
        index = order[aside + shuffle % jnp.maximum(count - aside, 1)]
        portions = jax.tree.map(lambda x: x.reshape(batches, batch, *x.shape[1:]), rows(index))
        carry, values = jax.lax.scan(step, carry, portions)
        return carry, values.mean()

    start = (params, optimiser_state)
    if plan.averaged:
        (params, optimiser_state), value = _mean_pass(one_pass, start, per_pass)
        return eqx.combine(params, static), optimiser_state, value
    if not plan.held_out:
        (params, optimiser_state), values = jax.lax.scan(one_pass, start, per_pass)
        return eqx.combine(params, static), optimiser_state, values[-1]

    held_out = lambda params: loss(eqx.combine(params, static), rows(judged), judged_weight)
    (params, optimiser_state), value = _best_pass(
        one_pass, held_out, start, per_pass, plan.patience
    )
    return eqx.combine(params, static), optimiser_state, value


def _mean_pass(one_pass, first, per_pass):
    """The mean of the parameters after each pass of the second half, the last state of the
    optimiser, and the loss of the last pass."""

    def kept_pass(carry, shuffle):
        carry, value = one_pass(carry, shuffle)
        return carry, (value, carry[0])

    (_, optimiser_state), (values, after) = jax.lax.scan(kept_pass, first, per_pass)
    mean = jax.tree.map(lambda x: x[len(per_pass) // 2 :].mean(0), after)
    return (mean, optimiser_state), values[-1]


def _best_pass(one_pass, held_out, first, per_pass, patience: int):
    """The state after the pass with the lowest held-out loss, and that loss; without patience,
    those of the last pass. A scan has a fixed length: stopping early skips the computation."""

    def judged_pass(carry, shuffle):
        current, best, best_value, waited = carry
        stopped = (patience > 0) & (waited >= max(patience, 1))
        current = jax.lax.cond(
            stopped, lambda c, s: c, lambda c, s: one_pass(c, s)[0], current, shuffle
        )
        value = held_out(current[0])
        better = ~stopped & ((value < best_value) | (patience == 0))
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), current, best)
        waited = jnp.where(better, 0, waited + 1)
        return (current, best, jnp.where(better, value, best_value), waited), None

    start = (first, first, jnp.asarray(jnp.inf), jnp.zeros((), jnp.int32))
    (_, best, value, _), _ = jax.lax.scan(judged_pass, start, per_pass)
    return best, value
