"""Fixed-size memory: a ring of recent transitions, one of endings, one of reset states."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common.types import Transition


class Ring(eqx.Module):
    """The newest items, up to a fixed capacity; `pushed` counts all that ever came."""

    items: Any
    pushed: Int[Array, ""]

    @staticmethod
    def empty(like: Any, capacity: int) -> "Ring":
        """`like` is one item: its shapes and dtypes are what the ring holds."""
        items = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), like)
        return Ring(items, jnp.zeros((), jnp.int32))

    @property
    def capacity(self) -> int:
        return jax.tree.leaves(self.items)[0].shape[0]

    @property
    def count(self) -> Int[Array, ""]:
        return jnp.minimum(self.pushed, self.capacity)

    @property
    def valid(self) -> Bool[Array, " n"]:
        return jnp.arange(self.capacity) < self.count

    def push(self, items: Any, keep: Bool[Array, " m"]) -> "Ring":
        """Take in the items where `keep` holds, in order; the rest leave no trace."""
        order = jnp.cumsum(keep) - 1
        # of more items than fit, only the last ones may be written: scatter order is undefined
        fits = keep & (order >= keep.sum() - self.capacity)
        slot = jnp.where(fits, (self.pushed + order) % self.capacity, self.capacity)
        write = lambda old, new: old.at[slot].set(new, mode="drop")
        return Ring(jax.tree.map(write, self.items, items), self.pushed + keep.sum())

    def sample(self, count: int, *, key: Array) -> Any:
        """Uniform, with replacement. An empty ring gives zeros."""
        index = jax.random.randint(key, (count,), 0, jnp.maximum(self.count, 1))
        return jax.tree.map(lambda x: x[index], self.items)


class Buffer(eqx.Module):
    """What the agent remembers of the real environment."""

    recent: Ring
    endings: Ring
    """Terminal transitions of their own: in `recent` a policy that has learned to survive would
    wash them out, and with them all knowledge of what ends an episode."""
    starts: Ring
    """States that followed a reset: where imagined trajectories begin."""

    @staticmethod
    def empty(transition: Transition, capacity: int, endings: int, starts: int) -> "Buffer":
        return Buffer(
            Ring.empty(transition, capacity),
            Ring.empty(transition, endings),
            Ring.empty(transition.state, starts),
        )

    def push(self, new: Transition, start: Bool[Array, " m"]) -> "Buffer":
        """`new` in order of time; `start` marks the first transition of an episode."""
        return Buffer(
            self.recent.push(new, jnp.ones_like(start)),
            self.endings.push(new, new.terminal),
            self.starts.push(new.state, start),
        )

    @property
    def weight(self) -> Float[Array, " n"]:
        return self.recent.valid.astype(jnp.float32)
