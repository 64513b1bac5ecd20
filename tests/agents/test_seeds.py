import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.seeds import OverSeeds, one_seed


class State(eqx.Module):
    weight: jax.Array
    key: jax.Array
    activation: Callable
    name: str
    nothing: Any = None


def step(state: State, scale, offset):
    """Touches a typed key, a matrix and the static parts."""
    key, noise_key = jax.random.split(state.key)
    noise = jax.random.normal(noise_key, state.weight.shape)
    weight = scale * state.activation(state.weight @ state.weight.T + noise) + offset["b"]
    log = {"sum": weight.sum(), "label": state.name + "!", "seen": state.nothing}
    return State(weight, key, state.activation, state.name), log


def stacked(seeds: int) -> tuple:
    keys = jax.random.split(jax.random.key(0), seeds)
    weight = jax.vmap(lambda k: jax.random.normal(k, (3, 3)))(keys)
    offset = {"b": np.arange(seeds * 3, dtype=np.float32).reshape(seeds, 3)}  # NumPy counts too
    return State(weight, keys, jnp.tanh, "net"), 0.5, offset


def plain(leaf):
    is_key = eqx.is_array(leaf) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def check(devices: int, seeds: int):
    """`OverSeeds` against a loop; also run in a process of its own that has two devices."""
    state, *rest = stacked(seeds)
    run, alone = OverSeeds(step, devices), eqx.filter_jit(step)
    for _ in range(2):  # a result goes back in
        before = (state, *rest)
        state, log = run(*before)
        assert state.activation is jnp.tanh
        assert (state.name, log["label"], log["seen"]) == ("net", "net!", None)
        assert state.weight.shape == (seeds, 3, 3)
        assert state.key.shape == log["sum"].shape == (seeds,)
        assert len(np.unique(log["sum"])) == seeds
        for i in range(seeds):
            assert_close(one_seed((state, log), i), alone(*one_seed(before, i)))


def assert_close(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        if eqx.is_inexact_array(a):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        else:
            assert np.array_equal(plain(a), plain(b)) if eqx.is_array(a) else a == b


def test_one_device_equals_a_loop():
    check(1, 3)


def test_one_seed_keeps_what_is_no_array():
    state, scale, offset = one_seed(stacked(3), 2)
    np.testing.assert_array_equal(state.weight, stacked(3)[0].weight[2])
    np.testing.assert_array_equal(offset["b"], [6, 7, 8])
    assert (state.name, state.activation, scale) == ("net", jnp.tanh, 0.5)


@pytest.mark.skipif(jax.device_count() < 2, reason="needs two devices")
def test_two_devices_equal_a_loop():
    check(2, 4)


def test_two_devices_and_three_seeds_equal_a_loop():
    """In a process of its own, because the number of devices is fixed when JAX starts."""
    script = (
        "import jax; jax.config.update('jax_num_cpu_devices', 2)\n"
        "from tests.agents.test_seeds import check\n"
        "assert jax.device_count() == 2\n"
        "check(2, 3)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=120)
