"""Soft actor-critic (Haarnoja et al. 2018): off-policy, twin critics, a learned temperature.

    critics      minimise  E (Q_i(s, a) - y)²,   y = r + γ (min_j Q'_j(s', a') - α log π(a'|s'))
    policy       minimise  E α log π(a|s) - min_i Q_i(s, a),   a ~ π(·|s)
    temperature  minimise  -log α · E (log π(a|s) + H),   H the target entropy
    targets      Q' ← Q' + τ (Q - Q')

After a terminal step y = r; after truncation it bootstraps. What the reward is and where the steps
come from is the caller's business: `update` takes one batch of steps with rewards, `updates` as
many batches from a replay as are asked for, in one compiled loop. With another term of the
policy's objective, that above counts in units of E |min Q| (as TD3+BC weighs its two terms;
Fujimoto & Gu, 2021).
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ilfo.common import fitting as training
from ilfo.common.buffer import Ring
from ilfo.common.networks import MLP, mlp
from ilfo.common.pytrees import between, filter_scan
from ilfo.common.spaces import ActionSpace, BoxActions
from ilfo.common.types import Log, Normaliser, Transition
from ilfo.common.validation import require_at_least, require_positive, require_share
from ilfo.planners.replay import Experience, draw_slots, steps_at
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.squashed import SquashedMLP

TINY = 1e-6
"""Least mean value that the policy's objective is divided by."""
Reward = Callable[[Transition], Float[Array, " n"]]
"""Rewards of a batch of steps, in the place of the recorded ones."""
Term = Callable[[Any, Float[Array, "n A"]], Float[Array, ""]]
"""What to add to the policy's objective, given the policy and its actions in a batch."""


class Critics(eqx.Module):
    """Two networks for Q(s, a)."""

    first: MLP
    second: MLP

    def __call__(
        self, states: Float[Array, "n S"], actions: Float[Array, "n A"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Both estimates; states are normalised already."""
        inputs = jnp.concatenate([states, actions], axis=-1)
        return jax.vmap(self.first)(inputs), jax.vmap(self.second)(inputs)


class SACState(eqx.Module):
    """Networks, temperature, and the states of their optimisers."""

    policy: Any
    """A policy on Box actions whose distributions have `sample_with_log_prob`."""
    critics: Critics
    targets: Critics
    log_temperature: Float[Array, ""]
    optimisers: tuple[Any, Any, Any]
    """Of the policy, the critics and the temperature."""

    @property
    def normaliser(self) -> Normaliser:
        """Of the states, for all networks."""
        return self.policy.normaliser

    def rescaled(self, normaliser: Normaliser) -> "SACState":
        """The same networks, with another normaliser of the state."""
        return eqx.tree_at(lambda s: s.policy.normaliser, self, normaliser)


class SAC(eqx.Module):
    """Hyper-parameters of SAC."""

    discount: float = 0.99
    """Discount γ, below 1."""
    tracking: float = 0.005
    """τ: by how much the target networks move towards the critics in an update."""
    batch_size: int = 256
    """Steps per update."""
    width: int = 256
    """Units in each hidden layer of policy and critics."""
    depth: int = 2
    """Number of hidden layers."""
    target_entropy: float | None = None
    """Mean entropy that the temperature keeps up, of actions in [-1, 1]; None for minus the number
    of action dimensions."""
    initial_temperature: float = 1.0
    """α before the first update."""
    optimiser: training.AbstractOptimiser = training.Adam(3e-4)
    """Optimiser of policy, critics and temperature."""

    def __post_init__(self):
        require_share(self, "tracking")
        require_at_least(self, 1, "batch_size", "width")
        require_at_least(self, 0, "depth")
        require_positive(self, "initial_temperature")
        if not 0 <= self.discount < 1:
            raise ValueError(f"discount is {self.discount}, but must lie in [0, 1)")

    def init(
        self, state_dim: int, actions: ActionSpace, normaliser: Normaliser, *, key: Array
    ) -> SACState:
        """Random networks; `normaliser` scales the states for all of them."""
        if not isinstance(actions, BoxActions):
            raise ValueError(f"SAC needs Box actions, but they are {actions}")
        dim, (policy_key, *critic_keys) = actions.encoded_dim, jax.random.split(key, 3)
        policy = SquashedMLP.random(
            state_dim, dim, self.width, self.depth, normaliser, key=policy_key
        )
        return self.start(policy, state_dim + dim, critic_keys)

    def start(self, policy: AbstractPolicy, inputs: int, keys: Sequence[Array]) -> SACState:
        """Random critics, with so many inputs, for a policy; one key for each of them."""
        critics = Critics(*(mlp(inputs, "scalar", self.width, self.depth, key=k) for k in keys))
        temperature = jnp.log(self.initial_temperature * jnp.ones(()))
        start = lambda part: self.optimiser.build().init(eqx.filter(part, eqx.is_inexact_array))
        optimisers = (start(policy), start(critics), start(temperature))
        return SACState(policy, critics, critics, temperature, optimisers)

    def update(self, state: SACState, batch: Experience, *, key: Array) -> tuple[SACState, Log]:
        """One update of everything from one batch of steps."""
        noise = state.policy.distribution(batch.transition.state[0]).noise(
            2, batch.reward.shape[0], key=key
        )
        return self._update(state, batch, noise)

    def updates(
        self,
        state: SACState,
        replay: Ring,
        count: int,
        reward: Reward | None = None,
        term: Term | None = None,
        *,
        key: Array,
    ) -> tuple[SACState, Log]:
        """`count` updates, each from a new batch of the replay; the log has the means.

        `reward` computes the rewards anew, for a learner whose reward changes. `term` is added to
        the policy's objective."""
        slot_key, noise_key = jax.random.split(key)
        slots = draw_slots(replay, count, self.batch_size, key=slot_key)
        any_state = replay.items.transition.state[0]
        noise = state.policy.distribution(any_state).noise(count, 2, self.batch_size, key=noise_key)

        def step(state, drawn):
            slots, noise = drawn
            batch = steps_at(replay, slots)
            if reward is not None:
                batch = batch._replace(reward=reward(batch.transition))
            return self._update(state, batch, noise, term)

        state, log = filter_scan(step, state, (slots, noise))
        return state, jax.tree.map(jnp.mean, log)

    def _update(
        self,
        state: SACState,
        batch: Experience,
        noise: Float[Array, "2 n A"],
        term: Term | None = None,
    ) -> tuple[SACState, Log]:
        steps, temperature = batch.transition, jnp.exp(state.log_temperature)
        normalise = state.policy.normaliser
        now, later = normalise(steps.state), normalise(steps.next_state)
        transform = self.optimiser.build()

        next_action, next_log_prob = _draw(state.policy, steps.next_state, noise[0])
        value = jnp.minimum(*state.targets(later, next_action)) - temperature * next_log_prob
        target = batch.reward + self.discount * jnp.where(steps.terminal, 0.0, value)

        def critic_loss(critics):
            first, second = critics(now, steps.action)
            return 0.5 * (((first - target) ** 2).mean() + ((second - target) ** 2).mean())

        loss, slope = eqx.filter_value_and_grad(critic_loss)(state.critics)
        critics, critic_optimiser = _stepped(transform, state.critics, state.optimisers[1], slope)

        def policy_loss(policy):
            action, log_prob = _draw(policy, steps.state, noise[1])
            worth = jnp.minimum(*critics(now, action))
            objective = (temperature * log_prob - worth).mean()
            if term is not None:
                unit = jax.lax.stop_gradient(jnp.abs(worth).mean())
                objective = objective / jnp.maximum(unit, TINY) + term(policy, action)
            return objective, (log_prob.mean(), worth.mean())

        (_, (log_prob, worth)), slope = eqx.filter_value_and_grad(policy_loss, has_aux=True)(
            state.policy
        )
        policy, policy_optimiser = _stepped(transform, state.policy, state.optimisers[0], slope)

        wanted = -steps.action.shape[-1] if self.target_entropy is None else self.target_entropy
        excess = -(log_prob + wanted)
        log_temperature, temperature_optimiser = _stepped(
            transform, state.log_temperature, state.optimisers[2], excess
        )
        targets = between(state.targets, critics, self.tracking)
        optimisers = (policy_optimiser, critic_optimiser, temperature_optimiser)
        log = {
            "critic_loss": loss,
            "value": worth,
            "entropy": -log_prob,
            "temperature": temperature,
        }
        return SACState(policy, critics, targets, log_temperature, optimisers), log


def _draw(policy: Any, states: Float[Array, "n S"], noise: Float[Array, "n A"]):
    """An action for each state, and its log-density."""
    return jax.vmap(lambda s, z: policy.distribution(s).sample_with_log_prob(z))(states, noise)


def _stepped(transform: optax.GradientTransformation, part: Any, state: Any, slope: Any):
    """One step of the optimiser: the new part, and the optimiser's new state."""
    change, state = transform.update(slope, state, eqx.filter(part, eqx.is_inexact_array))
    return eqx.apply_updates(part, change), state
