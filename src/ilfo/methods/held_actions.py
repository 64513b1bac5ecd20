"""A second reading of recordings of every k-th state: as if each action had been held for k steps.

This is ours, not the paper's.

The first reading is an inverse model q(a|s, s') for the agent's own states k steps apart, where a
is the first of the k actions. After random actions it can be all wrong, and a clone of what is
inferred then does not lead to where it could be learned better. The second reading takes states
that the forward model reaches from the agent's own if their action is held for k steps. It knows
something from the beginning, but is wrong where an expert changes its action from step to step
(docs/research-log.md, 'Every fourth state').

Each reading has a clone of its own. The one whose greedy actions lead nearer to the demonstrated
states, from each to the next, in k steps of the forward model, acts, and its actions pull.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.agents.problem import Problem
from ilfo.common.buffer import Buffer
from ilfo.common.pytrees import where
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import DemonstratedSteps, Log
from ilfo.dynamics.base import AbstractModel
from ilfo.methods.inference import Inference, InferenceState
from ilfo.policies.base import AbstractPolicy
from ilfo.rollouts.imagine import World

COMPARED = 1_024
"""Demonstrated states from which the clones are compared."""
FARTHEST = 4.0
"""A clone's squared distance from the next demonstrated state counts for at most this multiple of
the mean squared change between two of them."""


def read_again(
    spec: Inference,
    problem: Problem,
    world: World,
    buffer: Buffer,
    state: InferenceState,
    actions: Array,
    steps: DemonstratedSteps,
    scatter: float,
    *,
    key: Array,
) -> tuple[InferenceState, Array, Log]:
    """The state of inference with the second reading and which of the two acts, and the actions of
    that one; `actions` are those of the first."""
    assert state.held is not None
    seen = holding(world, buffer, problem.every)
    held, held_actions, _ = spec.fit(state.held, seen, steps, scatter, key=key)
    first, second = (
        missed(world.model, problem.actions, clone, steps, problem.every)
        for clone in (state.clone, held.clone)
    )
    holds = second < first
    state = replace(state, held=held, holds=holds)
    return state, where(holds, held_actions, actions), {"held": holds.astype(jnp.float32)}


def holding(world: World, buffer: Buffer, length: int) -> Buffer:
    """With the state that each recent transition would lead to if its action were held for `length`
    steps, by the model; without those that end an episode, or lead to where the model is not
    trusted."""
    seen = buffer.recent.items

    def reached(state: Array, action: Array) -> Array:
        again = lambda state, _: (world.model.mean(state, action), None)
        return jax.lax.scan(again, state, None, length=length - 1)[0]

    later = jax.vmap(reached)(seen.next_state, seen.action)
    keep = buffer.recent.valid & ~seen.terminal & jax.vmap(world.trusts)(later)
    return buffer.keeping(seen._replace(next_state=later), keep)


def missed(
    model: AbstractModel,
    actions: ActionSpace,
    policy: AbstractPolicy,
    steps: DemonstratedSteps,
    length: int,
) -> Float[Array, ""]:
    """Mean squared distance of where the policy's greedy actions lead in `length` steps of the
    model from the next demonstrated states, in units of demonstrated changes."""
    before, after = steps.before[:COMPARED], steps.after[:COMPARED]
    scale = steps.scales("change").scale

    def reached(state: Array) -> Array:
        act = lambda state: actions.execute(policy.distribution(state).mode())
        again = lambda state, _: (model.mean(state, act(state)), None)
        return jax.lax.scan(again, state, None, length=length)[0]

    squared = lambda x: ((x / scale) ** 2).sum(-1)
    error = jnp.nan_to_num(squared(jax.vmap(reached)(before) - after), nan=jnp.inf)
    return jnp.minimum(error, FARTHEST * squared(after - before).mean()).mean()
