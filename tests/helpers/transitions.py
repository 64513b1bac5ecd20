"""Transitions and a buffer for models that only take in what is new."""

import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.buffer import Buffer
from ilfo.common.types import Transition


def fit_all(spec, actions, *portions: Transition, key=0):
    """The state after taking in the portions one by one."""
    one = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), portions[0])
    state = spec.init(portions[0].state.shape[-1], actions, key=jax.random.key(key))
    for portion in portions:
        state, _ = spec.fit(
            state, portion, Buffer.empty(one, 1, 1, 1), key=jax.random.key(len(portions))
        )
    return state


def rows(transition: Transition, part) -> Transition:
    return Transition(*(x[part] for x in transition))


def one_hot_steps(count=60, states=4, actions=2, seed=0) -> Transition:
    rng = np.random.default_rng(seed)
    seen, chosen = rng.integers(states, size=count), rng.integers(actions, size=count)
    reached = (seen + chosen + (rng.uniform(size=count) < 0.4)) % states
    eye = np.eye(states, dtype=np.float32)
    return Transition(eye[seen], chosen.astype(np.int32), eye[reached], np.zeros(count, bool))


def smooth_steps(count=40, dim=2, seed=0) -> Transition:
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(count, dim)).astype(np.float32)
    action = rng.uniform(-1, 1, (count, 1)).astype(np.float32)
    following = state + 0.1 * np.sin(state[:, ::-1]) + 0.2 * action
    following += 0.05 * rng.normal(size=state.shape)
    return Transition(state, action, following.astype(np.float32), np.zeros(count, bool))
