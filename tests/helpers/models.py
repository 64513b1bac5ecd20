"""Models, rules and a policy so simple that imagined trajectories can be worked out by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.common.spaces import BoxActions
from ilfo.common.types import Normaliser, Rollout
from ilfo.dynamics.base import AbstractModel
from ilfo.dynamics.termination import AbstractRule
from ilfo.policies.mlp import MLPPolicy

HORIZON = 6
BOX = BoxActions((-1.0,), (1.0,), (1,))
# wide enough that many draws leave [-1, 1]
POLICY = MLPPolicy(width=8, depth=1, initial_log_std=0.5)
EVERYWHERE = (Normaliser.identity(2), jnp.array(1e6))


def policy():
    return POLICY.init(2, BOX, Normaliser.identity(2), key=jax.random.key(0))


class Beyond(AbstractRule):
    """Ends where the first coordinate exceeds a bound; bounds share one compiled function."""

    bound: jax.Array

    def __call__(self, next_state):
        return next_state[0] > self.bound


NEVER = Beyond(jnp.array(jnp.inf))


class Linear(AbstractModel):
    """Member m: s' = M_m s + B a;  σ = |s₀| + |a|, whoever is asked."""

    matrices: jax.Array
    b: jax.Array

    @property
    def members(self):
        return self.matrices.shape[0]

    def member(self, index):
        return eqx.tree_at(lambda model: model.matrices, self, self.matrices[index][None])

    def sample(self, state, action, *, key):
        assert self.members == 1, "a trajectory follows one member, it does not draw them"
        return self.matrices[0] @ state + self.b @ action

    def mean(self, state, action):
        raise NotImplementedError

    def uncertainty(self, state, action):
        return jnp.abs(state[0]) + jnp.abs(action).sum()


BY = 0.3


class Drift(Linear):
    """Every step adds `BY` to the first coordinate; beyond `edge` the model answers NaN."""

    edge: jax.Array

    def sample(self, state, action, *, key):
        moved = state + jnp.array([BY, 0.0])
        return jnp.where(moved[0] > self.edge, jnp.nan, moved)

    def uncertainty(self, state, action):
        return jnp.where(state[0] + BY > self.edge, jnp.nan, 1.0)


ROTATIONS = jnp.array(
    [[[0.9, 0.2], [-0.2, 0.9]], [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.0], [0.3, -0.5]]]
)
LINEAR = Linear(ROTATIONS, jnp.array([[0.1], [1.0]]))
DRIFT = Drift(ROTATIONS, jnp.zeros((2, 1)), jnp.array(jnp.inf))


def check_unrolled(rollout: Rollout, starts) -> None:
    """That the trajectories are those of `LINEAR`, number i by its member i mod 3."""
    matrices = np.asarray(ROTATIONS, np.float64)
    action = np.clip(np.asarray(rollout.action, np.float64), -1, 1)
    assert rollout.state.shape == rollout.next_state.shape == (len(starts), HORIZON, 2)
    for stream, start in enumerate(starts):
        state = np.asarray(start, np.float64)
        for t in range(HORIZON):
            np.testing.assert_allclose(rollout.state[stream, t], state, rtol=1e-4, atol=1e-5)
            state = matrices[stream % 3] @ state + np.array([0.1, 1.0]) * action[stream, t]
            np.testing.assert_allclose(rollout.next_state[stream, t], state, rtol=1e-4, atol=1e-5)
