"""Trust region policy optimisation; without the line search it is the natural policy gradient.

    minimise  E[π(a|s)/π_old(a|s) · A(s, a)]   subject to   E KL(π_old ‖ π) ≤ kl
    direction x: (F + damping) x = g,   step √(2 kl / xᵀFx) · x, shortened until both hold

F is the Hessian of the KL divergence at the old policy; `fisher_product` computes products F v
without forming it. A is an advantage of costs, so the surrogate is minimised.

A batch may say how much of its costs is more than noise, and bring a pull towards inferred actions.
With a pull the objective is reach · surrogate + pull. The bound is reach · kl in any case: a step
has the length of the bound however small the gradient is, and where nothing but noise is left to
follow, such steps destroy what was learned.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Float

from ilfo.common.fitting import shuffled_valid
from ilfo.common.pytrees import where
from ilfo.common.validation import require_at_least, require_positive
from ilfo.planners.base import AbstractPlanner, PlannerState, Steps
from ilfo.planners.critic import GAECritic
from ilfo.policies.mlp import within_bounds

SHORTENING = 0.8
"""Factor of the line search. The KL of the full step tends to be just above the bound; halving the
step would leave a quarter of that KL."""


class TRPO(AbstractPlanner):
    """Hyper-parameters of TRPO."""

    kl: float = 0.01
    """Bound on the mean KL divergence of a step."""
    cg_iterations: int = 10
    """Iterations of the conjugate gradient method."""
    damping: float = 1e-3
    """Added to the diagonal of the Fisher matrix."""
    line_search: bool = True
    """Shorten the step until the KL bound holds and the surrogate improves; False takes the full
    natural gradient step."""
    backtracks: int = 20
    """Largest number of steps tried by the line search; then the policy stays as it is."""
    fisher_samples: int = 1000
    """Number of states, drawn from the batch, in products with the Fisher matrix."""
    critic: GAECritic = GAECritic()
    """Advantage estimation and value function."""

    def __post_init__(self):
        require_positive(self, "kl")
        require_at_least(self, 0, "damping")
        require_at_least(self, 1, "cg_iterations", "backtracks", "fisher_samples")

    def for_horizon(self, horizon):
        return replace(self, critic=self.critic.for_horizon(horizon))

    def init(self, policy, state_dim, normaliser, *, key):
        return PlannerState(policy, self.critic.init(state_dim, normaliser, key=key), None)

    def update(self, state, batch, *, key):
        critic_key, fisher_key = jax.random.split(key)
        advantage, returns = self.critic.estimate(state.critic.critic, batch)
        critic, critic_loss = self.critic.fit(state.critic, batch, returns, key=critic_key)
        policy, log = self.step(state.policy, batch, advantage, key=fisher_key)
        log |= {"critic_loss": critic_loss, "bonus_share": self.critic.bonus_share(batch)}
        return PlannerState(policy, critic, None), log

    def step(self, policy, batch, advantage: Float[Array, "N T"], *, key: Array):
        """Update of the policy, for given advantages."""
        steps = Steps.of(batch, advantage)
        params, static = eqx.partition(policy, eqx.is_inexact_array)
        origin, unravel = ravel_pytree(params)
        rebuild = lambda vector: eqx.combine(unravel(vector), static)
        old = jax.vmap(policy.distribution)(steps.states)
        old_log_prob = jax.vmap(lambda d, a: d.log_prob(a))(old, steps.actions)

        pull, reach = batch.pull, 1.0 if batch.reach is None else batch.reach
        pulled = 0.0 if pull is None else pull(policy)
        bound = self.kl * reach

        def assess(vector) -> tuple[Array, Array]:
            """Objective, relative to the old policy's, and mean KL with these parameters."""
            new = jax.vmap(rebuild(vector).distribution)(steps.states)
            log_prob = jax.vmap(lambda d, a: d.log_prob(a))(new, steps.actions)
            surrogate = steps.mean(jnp.exp(log_prob - old_log_prob) * steps.advantage)
            if pull is not None:
                surrogate = reach * surrogate + pull(rebuild(vector)) - pulled
            return surrogate, steps.mean(jax.vmap(lambda p, q: p.kl(q))(old, new))

        before, gradient = jax.value_and_grad(assess, has_aux=True)(origin)
        product = fisher_product(policy, self._fisher_states(steps, key), self.damping)
        direction, _ = cg(product, -gradient, maxiter=self.cg_iterations, tol=1e-6)
        curvature = direction @ product(direction)
        # a failed solve can give a direction without positive curvature: then take no step
        usable = jnp.isfinite(curvature) & (curvature > 0)
        size = jnp.sqrt(2 * bound / jnp.where(usable, curvature, 1.0))
        full_step = jnp.where(usable, size, 0.0) * jnp.nan_to_num(direction)

        if self.line_search:
            vector, accepted, tries, (surrogate, kl) = self._search(
                assess, origin, full_step, bound, before
            )
        else:
            vector, accepted, tries = origin + full_step, usable, jnp.ones((), jnp.int32)
            surrogate, kl = assess(vector)
        log = {
            "kl": kl,
            "surrogate": surrogate,
            "accepted": accepted.astype(jnp.float32),
            "line_search_tries": tries.astype(jnp.float32),
            "entropy": steps.mean(jax.vmap(lambda d: d.entropy())(old)),
        }
        return within_bounds(rebuild(vector)), log

    def _search(self, assess, origin, full_step, bound, before):
        """The longest step tried that is acceptable; also what `assess` says of it, or, if there
        is none, of the policy as it was (`before`)."""

        def shorten(carry):
            tries, *_ = carry
            surrogate, kl = assess(origin + SHORTENING**tries * full_step)
            return tries + 1, (surrogate < 0) & (kl <= bound), (surrogate, kl)

        tries, accepted, after = jax.lax.while_loop(
            lambda carry: ~carry[1] & (carry[0] < self.backtracks),
            shorten,
            (jnp.zeros((), jnp.int32), jnp.zeros((), bool), before),
        )
        fraction = jnp.where(accepted, SHORTENING ** (tries - 1), 0.0)
        return origin + fraction * full_step, accepted, tries, where(accepted, after, before)

    def _fisher_states(self, steps: Steps, key: Array) -> Float[Array, "n S"]:
        order = shuffled_valid(steps.valid, key=key)
        size, count = min(self.fisher_samples, len(order)), jnp.maximum(steps.valid.sum(), 1)
        return steps.states[order[jnp.arange(size) % count]]


def fisher_product(policy, states: Float[Array, "n S"], damping: float):
    """v ↦ (F + damping) v, with F the Hessian of E KL(π ‖ ·) at π, on flattened parameters.

    The gradient of the KL is zero at π, so F = Jᵀ H J, where J is the Jacobian of the action
    distributions' parameters by the network's parameters and H the Hessian of the KL by the
    distributions' parameters. A product takes one forward and one backward pass through the
    network, half the cost of the jvp of the gradient by all parameters.
    """
    params, static = eqx.partition(policy, eqx.is_inexact_array)
    origin, unravel = ravel_pytree(params)
    predict = lambda vector: jax.vmap(eqx.combine(unravel(vector), static).distribution)(states)
    old, forward = jax.linearize(predict, origin)
    back = jax.linear_transpose(forward, origin)
    slope = jax.grad(lambda new: jax.vmap(lambda p, q: p.kl(q))(old, new).mean())

    def product(v: Float[Array, " n"]) -> Float[Array, " n"]:
        return back(jax.jvp(slope, (old,), (forward(v),))[1])[0] + damping * v

    return product
