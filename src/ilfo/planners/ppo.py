"""Proximal policy optimisation: minibatch descent on a clipped surrogate loss.

    minimise  E max(r A, clip(r, 1 - ε, 1 + ε) A) - entropy bonus,  r = π(a|s)/π_old(a|s)

A is an advantage of costs, hence a maximum where the usual form for rewards has a minimum.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ilfo.common import fitting as training
from ilfo.common.validation import require_at_least, require_positive
from ilfo.planners.base import AbstractPlanner, PlannerState, Steps
from ilfo.planners.critic import GAECritic
from ilfo.policies.mlp import within_bounds

MAX_GRADIENT = 0.5
"""Largest gradient norm; longer gradients are scaled down."""


class PPO(AbstractPlanner):
    """Hyper-parameters of PPO."""

    clip: float = 0.2
    """ε: the ratio of probabilities is clipped to [1 - ε, 1 + ε]."""
    entropy: float = 0.0
    """Weight of the entropy bonus."""
    optimiser: training.AbstractOptimiser = training.Adam(3e-4, 1e-5)
    """Optimiser of the policy."""
    plan: training.Passes = training.Passes(passes=10, batch_size=256)
    """Passes over each batch of rollouts, and the size of minibatches."""
    critic: GAECritic = GAECritic()
    """Advantage estimation and value function."""

    def __post_init__(self):
        require_positive(self, "clip")
        require_at_least(self, 0, "entropy")

    def for_horizon(self, horizon):
        return replace(self, critic=self.critic.for_horizon(horizon))

    def init(self, policy, state_dim, normaliser, *, key):
        optimiser = self._transform().init(eqx.filter(policy, eqx.is_inexact_array))
        critic = self.critic.init(state_dim, normaliser, key=key)
        return PlannerState(policy, critic, optimiser)

    def update(self, state, batch, *, key):
        critic_key, policy_key = jax.random.split(key)
        advantage, returns = self.critic.estimate(state.critic.critic, batch)
        critic, critic_loss = self.critic.fit(state.critic, batch, returns, key=critic_key)
        steps = Steps.of(batch, advantage)
        worth = 1.0 if batch.reach is None else batch.reach
        old = jax.vmap(state.policy.distribution)(steps.states)
        old_log_prob = jax.vmap(lambda d, a: d.log_prob(a))(old, steps.actions)
        rows = (steps.states, steps.actions, worth * steps.advantage, old_log_prob)

        def loss(policy, rows, weight):
            surrogate = self._loss(policy, rows, weight)
            return surrogate if batch.pull is None else surrogate + batch.pull(policy)

        policy, optimiser, surrogate = training.fit(
            loss,
            state.policy,
            state.optimiser,
            self._transform(),
            training.Dataset(rows, steps.valid),
            self.plan,
            key=policy_key,
        )
        new = jax.vmap(policy.distribution)(steps.states)
        log = {
            "kl": steps.mean(jax.vmap(lambda p, q: p.kl(q))(old, new)),
            "surrogate": surrogate,
            "accepted": jnp.ones(()),
            "entropy": steps.mean(jax.vmap(lambda d: d.entropy())(old)),
            "critic_loss": critic_loss,
            "bonus_share": self.critic.bonus_share(batch),
        }
        return PlannerState(within_bounds(policy), critic, optimiser), log

    def _loss(self, policy, rows, weight):
        states, actions, advantage, old_log_prob = rows
        new = jax.vmap(policy.distribution)(states)
        ratio = jnp.exp(jax.vmap(lambda d, a: d.log_prob(a))(new, actions) - old_log_prob)
        bounded = jnp.clip(ratio, 1 - self.clip, 1 + self.clip)
        loss = jnp.maximum(ratio * advantage, bounded * advantage)
        loss = loss - self.entropy * jax.vmap(lambda d: d.entropy())(new)
        return (weight * loss).sum() / jnp.maximum(weight.sum(), 1.0)

    def _transform(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(MAX_GRADIENT)
        return optax.chain(clip, self.optimiser.build())
