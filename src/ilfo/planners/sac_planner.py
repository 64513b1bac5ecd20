"""SAC as a planner: off-policy updates from short imagined trajectories.

    r = -(1 - γ) c,   and -(1 - γ) c - γ c_end for a step that ends its trajectory

c is the cost of a step and c_end that of each step after the end, so that values have the size of
one step's cost. The trajectories of a batch are its replay. They are short and branch off from
states of the replay buffer and of the demonstrations (MBPO; Janner et al., 2019), so that errors of
the model do not add up over a horizon.

The cost changes with every policy step, and SAC's own steps are long: the policy goes as far
towards what SAC makes of it as a bound on the KL divergence allows. Where a batch says how much of
its costs is more than noise (reach), it goes that share of the way.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ilfo.common import fitting as training
from ilfo.common.buffer import Ring
from ilfo.common.pytrees import between
from ilfo.common.types import Transition
from ilfo.common.validation import require_at_least, require_positive
from ilfo.planners.base import AbstractPlanner
from ilfo.planners.critic import Batch, discount_for
from ilfo.planners.replay import Experience
from ilfo.planners.sac import SAC, TINY
from ilfo.policies.mlp import StateNoiseMLP

OUTSIDE = 0.1
"""Weight of the squared distance of actions from [-1, 1]: they are cut off there, so that nothing
else keeps the policy inside."""
CORRECTIONS = 4
"""How often the share of the way that has the KL of the bound is estimated."""
MEASURED = 1_000
"""States at which the change of the policy is measured."""


class SACPlanner(AbstractPlanner):
    """Hyper-parameters of SAC as a planner. Box actions only; the policy's noise has to depend on
    the state (`policy.state_noise`)."""

    kl: float = 0.05
    """Mean KL divergence of a policy step at most, about: the policy goes a share of the way to
    what SAC makes of it."""
    updates: int = 40
    """Updates per policy step."""
    branch: int = 10
    """Length of the imagined trajectories."""
    discount: float | None = None
    """Discount γ, below 1; None ties it to the horizon H, as 1 - 5/H but at least 0.8."""
    batch_size: int = 256
    """Steps per update."""
    width: int = 128
    """Units in each hidden layer of the critics."""
    tracking: float = 0.01
    """By how much the target networks move towards the critics in an update."""
    initial_temperature: float = 1e-4
    """Weight of the entropy before the first update."""
    optimiser: training.AbstractOptimiser = training.Adam(3e-4)
    """Optimiser of policy, critics and temperature."""

    def __post_init__(self):
        require_at_least(self, 1, "updates", "branch", "batch_size", "width")
        require_positive(self, "initial_temperature", "kl")
        if self.discount is not None and not 0 <= self.discount < 1:
            raise ValueError(f"discount is {self.discount}, but must lie in [0, 1)")

    @property
    def branch_length(self):
        return self.branch

    def for_horizon(self, horizon):
        return self if self.discount is not None else replace(self, discount=discount_for(horizon))

    @property
    def learner(self) -> SAC:
        """SAC itself."""
        if self.discount is None:
            raise ValueError(
                "the discount is open: SACPlanner(discount=None) takes it from the horizon, which "
                "only MobILE does; set it to a number below 1"
            )
        return SAC(
            discount=self.discount,
            tracking=self.tracking,
            batch_size=self.batch_size,
            width=self.width,
            initial_temperature=self.initial_temperature,
            optimiser=self.optimiser,
        )

    def init(self, policy, state_dim, normaliser, *, key):
        if not isinstance(policy, StateNoiseMLP):
            raise ValueError(
                "SACPlanner needs Box actions and a policy whose noise depends on the state "
                "(policy.state_noise=true); use planner=TRPO"
            )
        action_dim = policy.distribution(jnp.zeros(state_dim)).mean.shape[0]
        return self.learner.start(policy, state_dim + action_dim, list(jax.random.split(key)))

    def update(self, state, batch, *, key):
        replay = self._replay(batch)

        def term(policy, actions):
            outside = OUTSIDE * (jax.nn.relu(jnp.abs(actions) - 1) ** 2).sum(-1).mean()
            return outside if batch.pull is None else outside + batch.pull(policy)

        new, log = self.learner.updates(state, replay, self.updates, term=term, key=key)
        seen = replay.items.transition.state[: min(MEASURED, replay.capacity)]
        valid = jnp.arange(seen.shape[0]) < replay.count

        def apart(policy) -> Float[Array, ""]:
            kl = jax.vmap(lambda s: state.policy.distribution(s).kl(policy.distribution(s)))(seen)
            return jnp.where(valid, kl, 0.0).sum() / jnp.maximum(valid.sum(), 1)

        def corrected(_, share):
            """The KL of a share of the way grows about with the square of the share."""
            kl = apart(between(state.policy, new.policy, share))
            return jnp.minimum(share * jnp.sqrt(self.kl / jnp.maximum(kl, TINY)), 1.0)

        share = jax.lax.fori_loop(0, CORRECTIONS, corrected, jnp.ones(()))
        reach = jnp.ones(()) if batch.reach is None else batch.reach
        policy = between(state.policy, new.policy, share * reach)
        log |= {"kl": apart(policy), "accepted": jnp.ones(()), "bonus_share": bonus_share(batch)}
        return eqx.tree_at(lambda s: s.policy, new, policy), log

    def _replay(self, batch: Batch) -> Ring:
        """The valid steps of a batch, with rewards."""
        rollout, gamma = batch.rollout, self.learner.discount
        after = jnp.where(rollout.terminal, batch.terminal_cost, 0.0)
        after = jnp.where(rollout.runaway, batch.runaway_cost, after)
        reward = -(1 - gamma) * batch.cost - gamma * after
        flat = lambda x: x.reshape(-1, *x.shape[2:])
        parts = (rollout.state, rollout.action, rollout.next_state, rollout.ended)
        steps = Experience(Transition(*map(flat, parts)), reward.ravel())
        one = jax.tree.map(lambda x: x[0], steps)
        return Ring.empty(one, reward.size).push(steps, rollout.valid.ravel())


def bonus_share(batch: Batch) -> Float[Array, ""]:
    """How much of the costs' variation comes from the bonus: sd(b)/(sd(b) + sd(c))."""
    if batch.bonus is None:
        return jnp.zeros(())
    valid = batch.rollout.valid
    mean = lambda x: jnp.where(valid, x, 0).sum() / jnp.maximum(valid.sum(), 1)
    spread = lambda x: jnp.sqrt(mean((x - mean(x)) ** 2))
    explore, other = spread(batch.bonus), spread(batch.cost + batch.bonus)
    return explore / jnp.maximum(explore + other, 1e-12)
