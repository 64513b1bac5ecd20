"""Several seeds in one process: one compiled function, spread over the devices.

Seeds take turns on a device rather than being batched: on a CPU a batch of seeds costs as much as
the seeds one by one, and one by one each computes what it would compute alone.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ilfo.common.compiling import compiled

AXIS = "seed"


class OverSeeds:
    """`function` on arguments whose arrays have a leading axis of seeds, as has its result.

    Where the devices do not divide the seeds, the first seeds are computed once more and dropped.
    Compiled on the first call, for good: later arguments must have the same shapes.
    """

    def __init__(self, function: Callable[..., Any], devices: int):
        self._function = function
        self._mesh = Mesh(jax.devices()[:devices], (AXIS,))
        self._everywhere = NamedSharding(self._mesh, PartitionSpec())
        self._compiled: Callable[..., Any] | None = None

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def compile(self, *args: Any) -> None:
        if self._compiled is None:
            self._compiled = compiled(self._run, *self._place(args))

    def __call__(self, *args: Any) -> Any:
        self.compile(*args)
        assert self._compiled is not None
        return self._compiled(*self._place(args))

    def _place(self, args: Any) -> Any:
        arrays, static = eqx.partition(args, eqx.is_array)
        return eqx.combine(jax.device_put(arrays, self._everywhere), static)

    def _run(self, *args: Any) -> Any:
        arrays, static = eqx.partition(args, eqx.is_array)
        count, devices = jax.tree.leaves(arrays)[0].shape[0], self._mesh.size
        padded = jnp.arange(-(-count // devices) * devices) % count
        rest: list[Any] = []

        def one(arrays):
            result = self._function(*eqx.combine(arrays, static))
            result_arrays, result_static = eqx.partition(result, eqx.is_array)
            rest.append(result_static)
            return result_arrays

        spread = jax.shard_map(
            lambda arrays: jax.lax.map(one, arrays),
            mesh=self._mesh,
            in_specs=PartitionSpec(AXIS),
            out_specs=PartitionSpec(AXIS),
            check_vma=False,
        )
        pad = lambda x: x if padded.size == count else x[padded]
        out = jax.tree.map(lambda x: x[:count], spread(jax.tree.map(pad, arrays)))
        # the same place for results as for arguments, so that a state can go round
        return eqx.combine(jax.lax.with_sharding_constraint(out, self._everywhere), rest[0])


def one_seed(tree: Any, index: int) -> Any:
    """A single seed's part of a tree whose arrays have the axis of seeds."""
    return jax.tree.map(lambda x: x[index] if eqx.is_array(x) else x, tree)
