"""Minibatch regression that every learned part shares: passes over a ring, early stop, optimisers.

All loops have fixed lengths, so that one compiled function serves every iteration and seed.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from ilfo.common.types import Normaliser
from ilfo.common.validation import require_at_least, require_positive, require_share


class AbstractOptimiser(eqx.Module):
    @abc.abstractmethod
    def build(self) -> optax.GradientTransformation: ...


class SGD(AbstractOptimiser):
    """Gradient descent with momentum, as in the paper's table."""

    learning_rate: float = 0.005
    """Length of a step."""
    momentum: float = 0.99
    """Share of the last step in the next one."""
    nesterov: bool = True
    """Look ahead along the momentum."""

    def __post_init__(self):
        require_at_least(self, 0, "learning_rate")
        require_share(self, "momentum")

    def build(self):
        return optax.sgd(self.learning_rate, self.momentum, self.nesterov)


class Adam(AbstractOptimiser):
    learning_rate: float = 1e-3
    """Length of a step."""
    epsilon: float = 1e-8
    """Kept below the root of the second moment."""
    regularisation: float = 0.0
    """Weight of half the squared norm of the parameters in the loss; scales of inputs are none."""

    def __post_init__(self):
        require_at_least(self, 0, "learning_rate", "regularisation")
        require_positive(self, "epsilon")

    def build(self):
        adam = optax.adam(self.learning_rate, eps=self.epsilon)
        if not self.regularisation:
            return adam
        return optax.chain(optax.add_decayed_weights(self.regularisation, _trained), adam)


def _trained(params: PyTree) -> PyTree:
    """True where a leaf is a parameter, False where it belongs to a normaliser: that is carried
    along with the network whose inputs it scales, without a gradient, and must not decay."""
    is_normaliser = lambda node: isinstance(node, Normaliser)
    return jax.tree.map(
        lambda node: jax.tree.map(lambda _: not is_normaliser(node), node),
        params,
        is_leaf=is_normaliser,
    )


class Passes(eqx.Module):
    """How often and in what portions the data are gone through."""

    passes: int = 20
    """Passes over the data per fit. The number of gradient steps is that of a full buffer or
    batch, whatever part of it is filled: compiled loops have fixed lengths."""
    batch_size: int = 256
    """Rows per gradient step."""
    held_out: float = 0.0
    """Share of the data kept aside to judge each pass; 0 trains on everything."""
    patience: int = 0
    """Stop after this many passes without a better held-out loss and keep the best pass;
    0 never stops."""

    def __post_init__(self):
        require_at_least(self, 1, "passes", "batch_size")
        require_at_least(self, 0, "patience")
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out is {self.held_out}, but must lie in [0, 1)")
        if self.patience and not self.held_out:
            raise ValueError(
                f"patience={self.patience} stops on held-out loss, but held_out={self.held_out}; "
                "set held_out to a share in (0, 1)"
            )


def shuffled_valid(valid: Array, *, key: Array) -> Int[Array, " n"]:
    """All row numbers, the valid ones first and in random order.

    The numbers ride in the low bits of the random words that are sorted. A single array is sorted
    ten times as fast as the pairs of `jax.random.permutation`, which took as long as training a
    small network on them. Rows whose random bits agree stay in order.
    """
    count = valid.shape[0]
    low = (count - 1).bit_length()
    invalid = (~valid).astype(jnp.uint32) << 31
    random = jax.random.bits(key, (count,)) >> (low + 1) << low
    rows = jnp.arange(count, dtype=jnp.uint32)
    return (jnp.sort(invalid | random | rows) & ((1 << low) - 1)).astype(jnp.int32)


def fit(
    loss: Callable[[Any, PyTree, Float[Array, " b"]], Float[Array, ""]],
    model: Any,
    optimiser_state: PyTree,
    optimiser: optax.GradientTransformation,
    data: PyTree,
    valid: Array,
    plan: Passes,
    *,
    key: Array,
) -> tuple[Any, PyTree, Float[Array, ""]]:
    """Minimise `loss(model, rows, weight)` by passes over the valid rows of `data`.

    Returns the model, the optimiser's state and the loss: of the held-out rows where there are
    any, else the mean over the last pass.
    """
    capacity = valid.shape[0]
    batch = min(plan.batch_size, capacity)
    batches = capacity // batch
    order_key, pass_key = jax.random.split(key)
    order = shuffled_valid(valid, key=order_key)
    count = jnp.maximum(valid.sum(), 1)
    aside = (plan.held_out * count).astype(jnp.int32)
    if plan.held_out:  # without a row to judge by, every pass would look perfect
        aside = jnp.clip(aside, 1, count - 1)
    judged = order[: max(int(plan.held_out * capacity), 1)]
    judged_weight = (jnp.arange(judged.shape[0]) < aside).astype(jnp.float32)
    rows = lambda index: jax.tree.map(lambda x: x[index], data)

    params, static = eqx.partition(model, eqx.is_inexact_array)
    ones = jnp.ones(batch)

    def step(carry, rows):
        params, state = carry
        value, grad = jax.value_and_grad(lambda p: loss(eqx.combine(p, static), rows, ones))(params)
        update, state = optimiser.update(grad, state, params)
        return (optax.apply_updates(params, update), state), value

    def one_pass(carry, key):
        shuffle = shuffled_valid(jnp.ones(capacity, bool), key=key)[: batches * batch]
        index = order[aside + shuffle % jnp.maximum(count - aside, 1)]
        portions = jax.tree.map(lambda x: x.reshape(batches, batch, *x.shape[1:]), rows(index))
        carry, values = jax.lax.scan(step, carry, portions)
        return carry, values.mean()

    keys = jax.random.split(pass_key, plan.passes)
    if not plan.held_out:
        (params, optimiser_state), values = jax.lax.scan(one_pass, (params, optimiser_state), keys)
        return eqx.combine(params, static), optimiser_state, values[-1]

    held_out = lambda params: loss(eqx.combine(params, static), rows(judged), judged_weight)
    (params, optimiser_state), value = _best_pass(
        one_pass, held_out, (params, optimiser_state), keys, plan.patience
    )
    return eqx.combine(params, static), optimiser_state, value


def _best_pass(one_pass, held_out, first, keys, patience: int):
    """The state after the pass that `held_out` judges best, and that judgement; without patience,
    after the last one. A scan has a fixed length: stopping early means not to compute."""

    def judged_pass(carry, key):
        current, best, best_value, waited = carry
        stopped = (patience > 0) & (waited >= max(patience, 1))
        current = jax.lax.cond(
            stopped, lambda c, k: c, lambda c, k: one_pass(c, k)[0], current, key
        )
        value = held_out(current[0])
        better = ~stopped & ((value < best_value) | (patience == 0))
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), current, best)
        waited = jnp.where(better, 0, waited + 1)
        return (current, best, jnp.where(better, value, best_value), waited), None

    start = (first, first, jnp.asarray(jnp.inf), jnp.zeros((), jnp.int32))
    (_, best, value, _), _ = jax.lax.scan(judged_pass, start, keys)
    return best, value
