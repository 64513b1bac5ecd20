"""`where`, means, `scan` and `cond` for pytrees with leaves that are not arrays; checks for NaN."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Tree = TypeVar("Tree")


def where(condition: Bool[Array, ""], new: Tree, old: Tree) -> Tree:
    """`new` if the condition holds, else `old`; leaves that are not arrays must agree."""
    new_arrays, static = eqx.partition(new, eqx.is_array)
    old_arrays = eqx.filter(old, eqx.is_array)
    pick = lambda x, y: jnp.where(condition, x, y)
    return eqx.combine(jax.tree.map(pick, new_arrays, old_arrays), static)


def between(old: Tree, new: Tree, share: Float[Array, ""] | float) -> Tree:
    """(1 - share) · old + share · new for floating-point arrays; all else is `new`."""
    moved = lambda x, y: x + share * (y - x) if eqx.is_inexact_array(x) else y
    return jax.tree.map(moved, old, new)


def filter_scan(step: Callable, carry: Tree, xs: Any) -> tuple[Tree, Any]:
    """`jax.lax.scan` for a carry with leaves that are not arrays; those stay unchanged."""
    arrays, static = eqx.partition(carry, eqx.is_array)

    def array_step(arrays, x):
        carry, out = step(eqx.combine(arrays, static), x)
        return eqx.filter(carry, eqx.is_array), out

    arrays, outs = jax.lax.scan(array_step, arrays, xs)
    return eqx.combine(arrays, static), outs


def filter_cond(condition: Bool[Array, ""], change: Callable[[Tree], Tree], tree: Tree) -> Tree:
    """`change(tree)` if the condition holds, else `tree`; only arrays may change."""
    arrays, static = eqx.partition(tree, eqx.is_array)
    changed = lambda arrays: eqx.filter(change(eqx.combine(arrays, static)), eqx.is_array)
    return eqx.combine(jax.lax.cond(condition, changed, lambda same: same, arrays), static)


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether no floating-point array holds NaN or infinity."""
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return jnp.all(jnp.stack([jnp.isfinite(leaf).all() for leaf in leaves] or [jnp.asarray(True)]))
