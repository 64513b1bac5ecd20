"""The replay buffer: ring buffers of recent transitions, terminal transitions and reset states.

Every array has a fixed size, so that one compiled function serves all iterations.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common.types import Transition


class Ring(eqx.Module):
    """A ring buffer: the newest items, up to a fixed capacity."""

    items: Any
    """A pytree whose arrays have the capacity as their first axis."""
    pushed: Int[Array, ""]
    """How many items were ever pushed, overwritten ones included."""

    @staticmethod
    def empty(like: Any, capacity: int) -> "Ring":
        """An empty ring for items with the shapes and dtypes of `like`, which is one item."""
        items = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), like)
        return Ring(items, jnp.zeros((), jnp.int32))

    @property
    def capacity(self) -> int:
        return jax.tree.leaves(self.items)[0].shape[0]

    @property
    def count(self) -> Int[Array, ""]:
        """Items that the ring holds now."""
        return jnp.minimum(self.pushed, self.capacity)

    @property
    def valid(self) -> Bool[Array, " n"]:
        """Which slots hold an item."""
        return jnp.arange(self.capacity) < self.count

    def push(self, items: Any, keep: Bool[Array, " m"]) -> "Ring":
        """Append the items where `keep` is true, in order, and ignore the others."""
        order = jnp.cumsum(keep) - 1
        # of more items than fit, only the last ones may be written: scatter order is undefined
        fits = keep & (order >= keep.sum() - self.capacity)
        slot = jnp.where(fits, (self.pushed + order) % self.capacity, self.capacity)
        write = lambda old, new: old.at[slot].set(new, mode="drop")
        return Ring(jax.tree.map(write, self.items, items), self.pushed + keep.sum())

    def sample(self, count: int, *, key: Array) -> Any:
        """`count` items, uniformly and with replacement; zeros if the ring is empty."""
        index = jax.random.randint(key, (count,), 0, jnp.maximum(self.count, 1))
        return jax.tree.map(lambda x: x[index], self.items)


class Buffer(eqx.Module):
    """The replay buffer of one agent."""

    recent: Ring
    """The newest transitions."""
    endings: Ring
    """The newest terminal transitions, kept apart: once a policy survives, new transitions would
    push all terminal ones out of `recent`, and nothing could learn what ends an episode."""
    starts: Ring
    """The newest reset states, in which imagined trajectories begin."""
    per_pass: int = eqx.field(static=True)
    """Recent transitions that a fit sees in one of its passes; also the size of `newest`."""

    @staticmethod
    def empty(
        transition: Transition,
        capacity: int,
        endings: int,
        starts: int,
        per_pass: int | None = None,
    ) -> "Buffer":
        """An empty buffer; `transition` is one transition of the right shapes, the numbers are the
        capacities of the three rings; a pass is over `capacity` transitions unless said."""
        return Buffer(
            Ring.empty(transition, capacity),
            Ring.empty(transition, endings),
            Ring.empty(transition.state, starts),
            capacity if per_pass is None else per_pass,
        )

    def push(self, new: Transition, start: Bool[Array, " m"]) -> "Buffer":
        """Add transitions in order of time; `start` marks the first transition of an episode."""
        return Buffer(
            self.recent.push(new, jnp.ones_like(start)),
            self.endings.push(new, new.terminal),
            self.starts.push(new.state, start),
            self.per_pass,
        )

    def newest(self) -> "Buffer":
        """With only the newest recent transitions, as many as a pass of a fit sees."""
        ring = self.recent
        if self.per_pass >= ring.capacity:
            return self
        first = jnp.maximum(ring.pushed - self.per_pass, 0)
        slot = (first + jnp.arange(self.per_pass)) % ring.capacity
        items = jax.tree.map(lambda x: x[slot], ring.items)
        newest = Ring(items, jnp.minimum(ring.pushed, self.per_pass))
        return eqx.tree_at(lambda buffer: buffer.recent, self, newest)

    def spans(self, length: int) -> "Buffer":
        """With the state that is reached `length` steps after the first as the next state of each
        recent transition; without those whose episode, or what is kept of it, ends before that."""
        ring = self.recent
        later = lambda x, steps: jnp.roll(x, -steps, axis=0)
        goes_on = ring.valid & later(ring.valid, 1)
        # at a reset, and where the newest items meet the oldest, states do not follow each other
        goes_on &= (ring.items.next_state == later(ring.items.state, 1)).all(-1)
        going = jnp.cumsum(jnp.concatenate([jnp.zeros(1, bool), goes_on, goes_on]))
        first = jnp.arange(ring.capacity)
        whole = ring.valid & (going[first + length - 1] - going[first] == length - 1)
        reached = later(ring.items.next_state, length - 1)
        return self.keeping(ring.items._replace(next_state=reached), whole)

    def keeping(self, items: Transition, keep: Bool[Array, " n"]) -> "Buffer":
        """With those of the items as the recent transitions; as many items as there are slots."""
        empty = Ring.empty(jax.tree.map(lambda x: x[0], items), self.recent.capacity)
        return eqx.tree_at(lambda buffer: buffer.recent, self, empty.push(items, keep))

    @property
    def weight(self) -> Float[Array, " n"]:
        """1 for the slots of `recent` that hold a transition, 0 for the empty ones."""
        return self.recent.valid.astype(jnp.float32)
