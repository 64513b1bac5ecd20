"""Small policies and batches that several suites share."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ilfo.common.spaces import ActionSpace, BoxActions, DiscreteActions, MultiDiscreteActions
from ilfo.common.types import Normaliser, Rollout
from ilfo.planners.critic import Batch
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.latent import LatentPolicy
from ilfo.policies.mlp import CategoricalMLP, MLPPolicy
from ilfo.policies.squashed import SquashedMLP

STATE_DIM = 3
NORMALISER = Normaliser(jnp.array([1.0, -0.5, 0.0]), jnp.array([2.0, 0.5, 1.0]))
ACTIONS: dict[str, ActionSpace] = {
    "categorical": DiscreteActions(3),
    "gaussian": BoxActions((-2.0, -1.0), (2.0, 3.0), (2,)),
    "multicategorical": MultiDiscreteActions((3, 2), (0, 0), (2,)),
}


def small_policy(kind: str, *, key: Array, width: int = 6, gain: float = 50.0) -> AbstractPolicy:
    """The last layer, small at first, is enlarged: all states would look alike to it."""
    if kind == "squashed":
        return squashed_policy(key=key, width=width)
    noisy = kind == "state noise"
    actions = ACTIONS["gaussian" if noisy else kind]
    spec = MLPPolicy(width=width, depth=1, state_noise=noisy)
    policy = spec.init(STATE_DIM, actions, NORMALISER, key=key)
    last = lambda policy: policy.network.layers[-1].weight
    return eqx.tree_at(last, policy, gain * last(policy))


def squashed_policy(*, key: Array, width: int = 6) -> SquashedMLP:
    """With a density that vanishes at the bounds of the actions."""
    policy = SquashedMLP.random(STATE_DIM, 2, width, 1, NORMALISER, key=key)
    last = lambda policy: policy.network.layers[-1].bias
    return eqx.tree_at(last, policy, last(policy) + jnp.array([0.0, 0.0, -1.2, -1.0]))


def latent_policy(*, key: Array) -> LatentPolicy:
    """Three latent actions, three real ones."""
    latent_key, remap_key = jax.random.split(key)
    latent = small_policy("categorical", key=latent_key)
    wide = Normaliser(
        jnp.append(NORMALISER.shift, jnp.zeros(3)), jnp.append(NORMALISER.scale, jnp.ones(3))
    )
    remap = MLPPolicy(width=6, depth=1).init(
        STATE_DIM + 3, ACTIONS["categorical"], wide, key=remap_key
    )
    assert isinstance(latent, CategoricalMLP)
    assert isinstance(remap, CategoricalMLP)
    return LatentPolicy(latent, remap)


@eqx.filter_jit
def bandit_batch(policy: AbstractPolicy, *, key: Array, streams: int = 8, steps: int = 8) -> Batch:
    """States come at random whatever is done; the cost is 1 for action 0 (or is action[0], for
    vectors).

    Stream 0 ends and stream 1 runs away before the last step; what follows is invalid.
    """
    state_key, next_key, noise_key = jax.random.split(key, 3)
    shape = (streams, steps)
    states = jax.random.normal(state_key, (*shape, STATE_DIM))
    following = jax.random.normal(next_key, (*shape, STATE_DIM))
    distribution = jax.vmap(jax.vmap(policy.distribution))(states)
    noise = jax.vmap(policy.distribution)(states[:, 0]).noise(*shape, key=noise_key)
    action = jax.vmap(jax.vmap(lambda d, n: d.sample(n)))(distribution, noise)
    cost = action == 0 if action.ndim == 2 else action[..., 0]
    cost = cost.astype(jnp.float32)
    terminal = jnp.zeros(shape, bool).at[0, 2].set(True)
    runaway = jnp.zeros(shape, bool).at[1, 4].set(True)
    cut = jnp.zeros(shape, bool).at[2:, -1].set(True)
    valid = jnp.ones(shape, bool).at[0, 3:].set(False).at[1, 5:].set(False)
    elapsed = jnp.broadcast_to(jnp.arange(steps), shape)
    rollout = Rollout(states, action, following, terminal, runaway, cut, valid, elapsed)
    return Batch(rollout, cost, jnp.array(0.5), jnp.array(1.0))
