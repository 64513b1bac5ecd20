"""The default distance ranks: the expert's further episodes, then a clone of it, then chance.

For an expert that rests, one that goes round in circles, and one that moves on.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.discriminators.mmd import MMD
from tests.discriminators.test_floor import as_steps
from tests.helpers.agents import plain_mmd

STEPS, DEMONSTRATIONS, SEEDS, TURN = 100, 10, 5, np.array([[0.0, -1.0], [1.0, 0.0]])


def rests(x, v):
    """Goes to the origin and stays."""
    return -4 * x - 4 * v


def circles(x, v):
    """Goes round the origin at distance 1."""
    around = x @ TURN.T
    return 6 * (around + (1 - np.linalg.norm(x, axis=-1, keepdims=True)) * x - v)


def moves_on(x, v):
    """Hops: the first coordinate keeps its speed, the second swings."""
    swing = -6 * x[:, 1] + (0.5 - x[:, 1] ** 2 - v[:, 1] ** 2 / 6) * v[:, 1]
    return np.stack([5 * (1 - v[:, 0]), swing], -1)


EXPERTS = {"rests": rests, "circles": circles, "moves on": moves_on}


def states(name: str, kind: str, count: int, seed: int) -> np.ndarray:
    """Episodes (count, STEPS + 1, S) of a point that is pushed; chance pushes at random, and a
    clone pushes too little, with a bias and with noise."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, size=(count, 2))
    v = 0.1 * generator.normal(size=(count, 2))
    seen = []
    for _ in range(STEPS + 1):
        # of what moves on, no one sees how far
        seen.append(np.concatenate([x[:, 1:] if name == "moves on" else x, v], -1))
        push = EXPERTS[name](x, v)
        if kind == "clone":
            push = 0.8 * push + 0.2 + 0.3 * generator.normal(size=push.shape)
        elif kind == "chance":
            push = 3 * generator.uniform(-1, 1, size=push.shape)
        v = v + 0.1 * np.clip(push, -4, 4)
        x = x + 0.1 * v
    return np.stack(seen, 1).astype(np.float32)


def distances(spec, name: str, seed: int) -> dict[str, float]:
    """Of two episodes each, as a learner has them in an iteration: the mean over 20 such pairs."""
    steps = as_steps(states(name, "expert", DEMONSTRATIONS, seed), STEPS)
    fitted = eqx.filter_jit(lambda key: spec.init(steps, None, key=key))(jax.random.key(seed))
    mean = lambda x: jax.vmap(jax.vmap(fitted.demonstrated))(x[:, :-1], x[:, 1:]).mean((0, 1))
    expert = jax.vmap(fitted.demonstrated)(steps.before, steps.after).mean(0)
    measure = jax.jit(jax.vmap(lambda pair: fitted.distance(mean(pair), expert)))
    found = {}
    for kind in ("expert", "clone", "chance"):
        pairs = states(name, kind, 40, 1000 + seed).reshape(20, 2, STEPS + 1, -1)
        found[kind] = float(measure(jnp.asarray(pairs)).mean())
    return found


@pytest.mark.parametrize("name", EXPERTS)
def test_the_default_ranks_expert_clone_and_chance(name):
    for seed in range(SEEDS):
        found = distances(MMD(), name, seed)
        assert found["expert"] < 0.9 * found["clone"], (seed, found)
        assert found["clone"] < 0.9 * found["chance"], (seed, found)


def test_a_small_bandwidth_does_not_tell_a_clone_from_chance_where_the_expert_rests():
    """Why the bandwidth is not a low quantile of the distances."""
    found = [distances(plain_mmd(), "rests", seed) for seed in range(SEEDS)]
    assert not all(each["clone"] < 0.9 * each["chance"] for each in found), found
