"""A pendulum that is linear in known features, and MobILE with a KNR on it.

    φ(θ, ω, u) = (θ, ω, sin θ, u)/4, scaled down to norm 1 if it is longer
    W*φ        = (θ + 0.1 ω, 0.99 ω + 0.5 sin θ + 0.5 u),   noise 0.05

θ = 0 is upright and unstable; the torque u lies in [-1, 1]. Policies are clip(shift − a θ − b ω),
with (a, b, shift) from a grid, the expert's among them. F consists of functions 1 − bump with
centres on a grid; the true cost is the one whose centre is upright and at rest. All expectations
are means over simulated episodes. Each iteration evaluates all policies in the model, runs the best
one for one episode of the true system, and fits the model.
"""

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ilfo.common.buffer import Buffer
from ilfo.common.spaces import BoxActions
from ilfo.common.types import Transition
from ilfo.dynamics.base import AbstractModel
from ilfo.dynamics.features import AbstractFeatures, FittedFeatures
from ilfo.dynamics.knr import KNRDynamics

SIZE, NOISE, HORIZON, DELTA = 4.0, 0.05, 20, 0.1
ACTIONS = BoxActions((-1.0,), (1.0,), (1,))
# NumPy, not JAX: a JAX computation on import would fix the number of devices
TRUE = SIZE * np.array([[1.0, 0.1, 0.0, 0.0], [0.0, 0.99, 0.5, 0.5]], np.float32).T
POLICIES = np.array(
    list(itertools.product((-2.0, 0.0, 2.0, 4.0), (0.0, 1.0), (-0.5, 0.0, 0.5))),
    np.float32,
)
EXPERT = 16
"""Index of the expert's policy, (2, 1, 0), which keeps the pendulum upright."""
CENTRES = np.array(
    list(itertools.product((-1.0, -0.5, 0.0, 0.5, 1.0), (-1.0, 0.0, 1.0))), np.float32
)
COST = 7
"""Index of the true cost in F, with centre (0, 0)."""


class FittedPendulum(FittedFeatures):
    """φ."""

    @property
    def dim(self):
        return 4

    def __call__(self, x):
        z = jnp.array([x[0], x[1], jnp.sin(x[0]), x[2]]) / SIZE
        return z / jnp.maximum(jnp.linalg.norm(z + 1e-12), 1.0)

    def kernel(self, x, y):
        return self(x) @ self(y)


class PendulumFeatures(AbstractFeatures):
    """φ as a setting of the KNR."""

    def init(self, state_dim, actions, *, key):
        return FittedPendulum()


class Pendulum(AbstractModel):
    """The true system, as a model without uncertainty."""

    def mean(self, state, action):
        return FittedPendulum()(jnp.concatenate([state, action])) @ TRUE

    def sample(self, state, action, *, key):
        return self.mean(state, action) + NOISE * jax.random.normal(key, state.shape)

    def uncertainty(self, state, action):
        return jnp.zeros(())


def norm_of_truth() -> float:
    """‖W*‖."""
    return float(np.linalg.norm(TRUE, 2))


def spec() -> KNRDynamics:
    """The KNR, with the ridge of the paper's proposition, noise²/‖W*‖²."""
    bound = norm_of_truth()
    return KNRDynamics(
        PendulumFeatures(),
        noise=NOISE,
        ridge=(NOISE / bound) ** 2,
        weight_bound=bound,
        delta=DELTA,
        scaled=False,
    )


def act(policy: Float[Array, " 3"], state: Float[Array, " 2"]) -> Float[Array, " 1"]:
    """The torque of a policy (a, b, shift)."""
    return jnp.clip(policy[2] - policy[:2] @ state, -1.0, 1.0)[None]


def functions(state: Float[Array, " 2"]) -> Float[Array, " F"]:
    """f(s) for every f of F."""
    far = ((state - CENTRES) ** 2 * jnp.array([1.0, 0.25])).sum(-1)
    return 1 - jnp.exp(-far / 0.5)


def episode(model: AbstractModel, policy: Float[Array, " 3"], key: Array) -> Transition:
    """An episode of H steps that starts near the upright position."""
    start_key, run_key = jax.random.split(key)

    def step(state, key):
        action = act(policy, state)
        following = model.sample(state, action, key=key)
        return following, Transition(state, action, following, jnp.zeros((), bool))

    start = 0.1 * jax.random.normal(start_key, (2,))
    return jax.lax.scan(step, start, jax.random.split(run_key, HORIZON))[1]


def mean_functions(model: AbstractModel, policy: Array, keys: Array) -> Float[Array, " F"]:
    """E f(s) for every f of F, averaged over steps and episodes."""
    states = jax.vmap(lambda key: episode(model, policy, key).state)(keys)
    return jax.vmap(jax.vmap(functions))(states).mean((0, 1))


class Course(NamedTuple):
    """The iterations of one repetition."""

    policy: Int[Array, " T"]
    """Index of the policy that acted."""
    gained: Float[Array, " T"]
    """Σ_h min(σ², 1) along the real episode, with σ from before it."""
    bounded: Float[Array, " T"]
    """Σ_h min(‖φ‖² in Σ⁻¹, 1)."""
    information: Float[Array, " T"]
    """ln det Σ/det(ridge·I) after the fit."""


def mobile(
    scale: float, iterations: int, demonstrations: int, imagined: int, *, key: Array
) -> Course:
    """MobILE with b = scale·H·min(σ, 2)."""
    dynamics, true = spec(), Pendulum()
    init_key, expert_key, run_key = jax.random.split(key, 3)
    expert_keys = jax.random.split(expert_key, demonstrations)
    shown = mean_functions(true, POLICIES[EXPERT], expert_keys)
    begin = dynamics.init(2, ACTIONS, key=init_key)
    arrays, static = eqx.partition(begin, eqx.is_array)
    one = Transition(jnp.zeros(2), jnp.zeros(1), jnp.zeros(2), jnp.zeros((), bool))
    nothing = Buffer.empty(one, 1, 1, 1)

    def iterate(arrays, key):
        state = eqx.combine(arrays, static)
        model = state.model
        imagine_key, act_key = jax.random.split(key)
        keys = jax.random.split(imagine_key, imagined)

        def price(policy):
            steps = jax.vmap(lambda key: episode(model, policy, key))(keys)
            means = jax.vmap(jax.vmap(functions))(steps.state).mean((0, 1))
            width = jax.vmap(jax.vmap(model.width))(steps.state, steps.action).mean()
            return (means - shown).max() - scale * HORIZON * width

        chosen = jnp.argmin(jax.vmap(price)(jnp.asarray(POLICIES))).astype(jnp.int32)
        new = episode(true, jnp.asarray(POLICIES)[chosen], act_key)
        sigma = jax.vmap(model.uncertainty)(new.state, new.action)
        novelty = jax.vmap(model.novelty)(new.state, new.action)
        state, log = dynamics.fit(state, new, nothing, key=act_key)
        course = Course(
            chosen,
            jnp.minimum(sigma**2, 1).sum(),
            jnp.minimum(novelty**2, 1).sum(),
            log["information"],
        )
        return eqx.filter(state, eqx.is_array), course

    return jax.lax.scan(iterate, arrays, jax.random.split(run_key, iterations))[1]


def true_values(episodes: int, *, key: Array) -> Float[Array, " policies"]:
    """V: the expected total true cost of every policy."""
    keys = jax.random.split(key, episodes)
    mean = lambda policy: mean_functions(Pendulum(), policy, keys)[COST]
    return HORIZON * jax.lax.map(mean, jnp.asarray(POLICIES))
