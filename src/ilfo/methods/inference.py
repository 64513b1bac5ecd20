"""Inferred actions for MobILE: which actions led from one demonstrated state to the next.

This is ours, not the paper's. An inverse model q(a|s, s') is fitted on the agent's own transitions
and infers an action â for every demonstrated step; a clone is a policy fitted to them, as in BC-O.
Single fits differ a lot in what their policies do in the end, so the clone is a mean of their
weights over iterations, in which old fits fade (polynomial-decay averaging, Shamir & Zhang, 2013).
Where demonstrated states are k control steps apart, the inverse model is q(a|s, s') for states k
steps apart, and the action is the first of the k; `ilfo.methods.held_actions` has a second reading
for that case. Two uses:

    start  the planner begins an iteration with the clone instead of its own policy
    pull   each planner step minimises  surrogate + β · mean of trust · (-log π(â|s))

How much of it to believe is measured:

- The world is the judge. Half of the real streams are acted by the clone, the others by the
  planner's policy. With m and c the distances of their states from the demonstrated ones, the clone
  counts as worse if c² > m² + noise, where the noise is what the expert's own episodes would show.
  As long as it is not worse and is believed, the planner starts from it. Evidence against a clone
  adds up: the pull is β · B with B ← min(1, B · (m² + noise)/c² · p/p₀) in every iteration, whose
  logarithm is a cumulative sum as in tests for a change (Page, 1954). p is how much of the way from
  the untrained policy to the expert the clone has come, in squared distances above the noise floor,
  and p₀ is two thirds: a policy that is pulled to a bad clone is hardly nearer than it, so that
  comparing the two is not enough. A clone that is bad once keeps most of its pull, and one that
  stays bad keeps the share `least_pull` of it.
  Where there are fewer than `few` demonstrations, β is smaller in proportion to their number.
  With a single demonstration that noise is unknown: the clone has to be clearly nearer for the
  planner to start from it, and clearly farther to lose its pull.
- The forward model is a witness. The trust in an inferred action is the share of the demonstrated
  step that it explains: 1 - E‖ĝ(s, â) - s'‖²/‖s' - s‖² over the members, cut at 0. It testifies
  to single steps only.

The noise of clone and policy has a prior. It is fitted to how inferred actions scatter around the
mean, and a network meets a few demonstrated steps almost exactly: they do not show how little noise
there is. Hence the untrained policy's noise counts as much as `noise_prior` demonstrated steps do.
Actions are taken to scatter around the inferred ones with its variance · noise_prior / n, for n
demonstrated steps.

Before all this the untrained policy acts for `explore` environment steps. On Reacher this measured
better than letting the clone act at once (docs/research-log.md).

Prior art: BC-O (Torabi et al., 2018) is the clone alone; DAPG (Rajeswaran et al., 2018) has the
pull, with the expert's own actions and a weight that decays; OPOLO (Zhu et al., 2020) regularises
its policy by an inverse model.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.agents.selection import Pooled
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Adam, Passes
from ilfo.common.pytrees import between, where
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import DemonstratedSteps, Log, Normaliser
from ilfo.common.validation import require_at_least, require_share
from ilfo.discriminators.floor import Floor
from ilfo.dynamics.base import AbstractModel
from ilfo.dynamics.inverse import InverseEnsemble, Inverses, InverseState
from ilfo.methods.acting_noise import ActingNoise
from ilfo.planners.pull import Pull
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.cloning import Cloning
from ilfo.policies.mlp import MLPPolicy, StateNoiseMLP, with_noise

RECENT = 3
"""The clone is a mean over iterations: the t-th fit counts for (RECENT + 1)/(RECENT + t) of it."""
PULLED = 1_024
"""Demonstrated states in the pull of a planner step."""
PASSING = 2 / 3
"""Share of the way from the untrained policy to the expert, in squared distances, that a clone has
to have come so as not to lose belief."""
BELIEVED = 0.1
"""Belief below which the planner does not start from the clone, even if it is not worse."""
AT_ONCE, PORTION = 3 * 2**20, 2**19
"""Numbers in the states before the demonstrated steps up to which all actions are inferred at once,
and in those of a portion otherwise: every member has inputs of its own for every step."""


class Inference(eqx.Module):
    """Hyper-parameters of inferred actions."""

    inverse: InverseEnsemble = InverseEnsemble()
    """The models that infer actions."""
    cloning: Cloning = Cloning(
        optimiser=Adam(1e-3, regularisation=1e-3),
        plan=Passes(passes=20, batch_size=128, averaged=True),
    )
    """How the clone is fitted to inferred actions, per iteration."""
    explore: int = 800
    """Environment steps that the untrained policy takes before the clone or the planner acts."""
    start: bool = True
    """Begin iterations with the clone, as long as the world does not call it worse."""
    pull: float = 1.0
    """β: largest weight of the pull; 0 turns it off."""
    few: int = 5
    """With fewer demonstrations the pull is weaker, in proportion to their number; 1 for a pull
    that does not depend on it."""
    least_pull: float = 0.05
    """Share of β that remains as long as the clone stays bad."""
    judged: bool = True
    """Let the world judge the clone; otherwise it always counts as good."""
    progress: bool = True
    """Let a clone lose its pull, too, as long as it has come less than two thirds of the way from
    the untrained policy to the expert; otherwise it is only compared with the policy."""
    noise_prior: int = 30
    """Demonstrated steps that the untrained policy's noise counts for where noise is fitted to
    inferred actions; 0 for none. Box actions only."""
    quieter: float = 0.5
    """Factor of the noise that policy and clone act with where the world says that they are nearer
    with it; 1 for always all of it. For Box actions and `policy.state_noise`."""
    quieter_times: int = 1
    """How often that factor may be applied."""
    held: bool = True
    """Where demonstrated states are several control steps apart, also infer which action, held for
    as long, leads from one to the next; of the two clones the one acts that comes nearer to them in
    the model."""
    witness: bool = True
    """Weigh inferred actions by how much of their step the forward model explains; otherwise all
    alike."""

    def __post_init__(self):
        require_at_least(self, 0, "pull", "explore", "noise_prior")
        require_at_least(self, 1, "few", "quieter_times")
        require_share(self, "least_pull")
        if not 0 < self.quieter <= 1:
            raise ValueError(
                f"quieter is {self.quieter}, but must be above 0 and at most 1; it is a factor of "
                "the noise"
            )

    def init(
        self,
        policy: AbstractPolicy,
        state_dim: int,
        actions: ActionSpace,
        every: int = 1,
        *,
        key: Array,
    ) -> "InferenceState":
        """Before anything is known; `policy` is the untrained one, and demonstrated states are
        `every` control steps apart."""
        inverse = self.inverse.init(state_dim, actions, key=key)
        optimiser, none = self.cloning.init(policy), jnp.zeros((), jnp.int32)
        held = None
        if every > 1 and self.held:
            held = self.init(policy, state_dim, actions, key=jax.random.fold_in(key, 1))
        return InferenceState(
            inverse,
            explorer=policy,
            clone=policy,
            fitted=policy,
            optimiser=optimiser,
            fits=none,
            belief=jnp.ones(()),
            untrained=jnp.array(jnp.inf),
            noise=ActingNoise.untried(len(self.factors)) if self.varies_noise(policy) else None,
            held=held,
            holds=None if held is None else jnp.zeros((), bool),
        )

    @property
    def factors(self) -> tuple[float, ...]:
        """Of the noise in acting, the whole noise first."""
        return tuple(self.quieter**times for times in range(self.quieter_times + 1))

    def varies_noise(self, policy: AbstractPolicy) -> bool:
        """Whether more than one factor can be tried."""
        return self.quieter < 1 and isinstance(policy, StateNoiseMLP)

    def strength(self, belief: Float[Array, ""], demonstrations: Array) -> Float[Array, ""]:
        """Weight of the pull."""
        return self.pull * belief * jnp.minimum(demonstrations / self.few, 1.0)

    def scatter(self, policy: MLPPolicy, steps: DemonstratedSteps) -> float:
        """Variance of the expert's actions around inferred ones, as the prior has it."""
        count = max(steps.before.shape[0], self.noise_prior, 1)
        return self.noise_prior * policy.initial_variance / count

    def fit(
        self,
        state: "InferenceState",
        buffer: Buffer,
        steps: DemonstratedSteps,
        scatter: float,
        *,
        key: Array,
    ) -> tuple["InferenceState", Array, Log]:
        """Fit the inverse models to the replay buffer and the clone to the actions that they infer,
        which are returned as well."""
        inverse_key, clone_key = jax.random.split(key)
        inverse, model, log = self.inverse.fit(state.inverse, buffer, key=inverse_key)
        inferred = infer_actions(model, steps)
        everywhere = jnp.ones(steps.before.shape[0], bool)
        fitted, optimiser, loss = self.cloning.fit(
            state.fitted,
            state.optimiser,
            (steps.before, inferred),
            everywhere,
            key=clone_key,
            scatter=scatter,
        )
        fits = state.fits + 1
        clone = between(state.clone, fitted, (RECENT + 1) / (RECENT + fits))
        state = replace(
            state, inverse=inverse, clone=clone, fitted=fitted, optimiser=optimiser, fits=fits
        )
        return state, inferred, log | {"clone_loss": loss}

    def decide(
        self, belief: Float[Array, ""], verdict: "Verdict", untrained: Bool[Array, ""]
    ) -> tuple[Bool[Array, ""], Float[Array, ""]]:
        """Whether the planner starts from the clone, and the new belief in the clone. Before it
        has acted there is nothing to judge it by."""
        unjudged = untrained | (not self.judged)
        come = verdict.progress / PASSING if self.progress else 1.0
        belief = jnp.clip(belief * verdict.evidence * come, self.least_pull, 1.0)
        starts = unjudged | (~verdict.worse & (belief >= BELIEVED))
        return starts & self.start, jnp.where(unjudged, 1.0, belief)


class InferenceState(eqx.Module):
    inverse: InverseState
    explorer: AbstractPolicy
    """The untrained policy."""
    clone: AbstractPolicy
    """The mean over the fits."""
    fitted: AbstractPolicy
    """The last fit, from which the next one goes on."""
    optimiser: Any
    fits: Int[Array, ""]
    belief: Float[Array, ""]
    """The share of the pull that the clone deserves, by all that the world has said of it."""
    untrained: Float[Array, ""]
    """Distance of the untrained policy from the expert; infinite if it has not acted."""
    noise: ActingNoise | None = None
    """How much of its noise acts; None if it is always all of it."""
    held: "InferenceState | None" = None
    """The second reading, of which only the models and the clone matter; None if there is none."""
    holds: Bool[Array, ""] | None = None
    """Whether its clone acts."""

    @property
    def acting(self) -> AbstractPolicy:
        """The clone that acts."""
        if self.held is None or self.holds is None:
            return self.clone
        return where(self.holds, self.held.clone, self.clone)

    @property
    def acting_by_seed(self) -> AbstractPolicy:
        """The clones that act, if every array here has a leading axis for the seeds."""
        if self.held is None:
            return self.clone
        return eqx.filter_vmap(lambda state: state.acting)(self)

    def with_noise(self, factor: Float[Array, ""]) -> "InferenceState":
        """With clones that act with this factor of their noise."""
        held = None if self.held is None else self.held.with_noise(factor)
        return replace(self, clone=with_noise(self.clone, factor), held=held)


class Verdict(NamedTuple):
    """What the real streams say of the clone."""

    worse: Bool[Array, ""]
    """It is further from the expert than the policy is, beyond noise."""
    evidence: Float[Array, ""]
    """Squared distance that is allowed, relative to its own: below 1 if it is worse."""
    progress: Float[Array, ""]
    """How much of the way from the untrained policy to the expert it has come, between 0 and 1."""


def verdict(
    policy: Pooled,
    policy_mmd: Float[Array, ""],
    clone: Pooled,
    clone_mmd: Float[Array, ""],
    floor: Floor,
    untrained_mmd: Float[Array, ""],
) -> Verdict:
    """Compare the distances of policy, clone and untrained policy; the pools say how many episodes
    those of policy and clone are of.

    The noise is what so many episodes of the expert would show. A single demonstration does not
    tell that: then the noise is what policy and clone show themselves. It excuses a clone that is
    to keep its pull, but not one that the planner is to start from, which has to be nearer by more
    than that.
    """
    own = policy.scatter(policy_mmd) / policy.episodes + clone.scatter(clone_mmd) / clone.episodes
    expected = floor.scatter * (1 / policy.episodes + 1 / clone.episodes)
    known = floor.demonstrations > 1
    to_start = jnp.maximum(policy_mmd**2 + jnp.where(known, expected, -own), 0.0)
    to_pull = policy_mmd**2 + jnp.where(known, expected, own)
    lowest = floor(clone.episodes) ** 2
    way = untrained_mmd**2 - lowest
    left = jnp.where(way > 0, (clone_mmd**2 - lowest) / jnp.maximum(way, 1e-12), 0.0)
    return Verdict(
        clone_mmd**2 > to_start,
        to_pull / jnp.maximum(clone_mmd**2, 1e-12),
        jnp.clip(1 - left, 0.0, 1.0),
    )


def infer_actions(model: Inverses, steps: DemonstratedSteps) -> Array:
    """The most likely action of every demonstrated step."""
    if steps.before.size <= AT_ONCE:
        return jax.vmap(model.infer)(steps.before, steps.after)
    portion = max(1, PORTION // steps.before[0].size)
    states = (steps.before, steps.after)
    return jax.lax.map(lambda step: model.infer(*step), states, batch_size=portion)


def explained(
    model: AbstractModel, buffer: Buffer, steps: DemonstratedSteps, actions: Array
) -> Float[Array, " n"]:
    """The share of each demonstrated step that the model explains with that action, in units of
    the agent's own steps. Members that disagree explain less."""
    seen = buffer.recent.items
    scale = Normaliser.fit(seen.next_state - seen.state, buffer.weight, floor=1e-6).scale

    def one(before, after, action):
        means = jax.vmap(lambda i: model.member(i).mean(before, action))(jnp.arange(model.members))
        error = (((means - after) / scale) ** 2).sum(-1).mean()
        step = (((after - before) / scale) ** 2).sum()
        return jnp.clip(1 - error / jnp.maximum(step, 1e-12), 0.0, 1.0)

    return jax.vmap(one)(steps.before, steps.after, actions)


class Inferred(NamedTuple):
    """The actions of the demonstrated steps, as one iteration knows them."""

    actions: Array
    weight: Float[Array, " n"]
    """The strength of the pull times the trust in each."""
    scatter: float = 0.0
    """Variance of the expert's actions around them."""

    def draw(self, steps: DemonstratedSteps, *, key: Array) -> Pull:
        """The pull of some of them."""
        count = steps.before.shape[0]
        index = jax.random.randint(key, (min(PULLED, count),), 0, count)
        return Pull(steps.before[index], self.actions[index], self.weight[index], self.scatter)
