"""The settings of MobILE, and what follows from the environment where they leave it open."""

from dataclasses import replace

from ilfo.agents.problem import Problem
from ilfo.agents.settings import Settings
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import Adam, Passes
from ilfo.common.types import Transition
from ilfo.common.validation import require_at_least, require_share
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.base import AbstractDynamics
from ilfo.dynamics.bonus import AbstractBonus, BufferNormalised
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.termination import AbstractTermination, LearnedTermination
from ilfo.methods.inference import Inference
from ilfo.planners.base import AbstractPlanner
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.mlp import MLPPolicy

ENDINGS, RESETS = 500, 500
"""Terminal transitions and reset states that the buffer keeps beside recent transitions."""
IMAGINED_STEPS, FEWEST_STREAMS, MOST_STREAMS = 6_400, 16, 128
PASS_STEPS, PASS_HORIZONS, KEPT_PASSES = 6_400, 32, 3
"""Sizes that follow from the horizon where the settings leave them open: of imagination, of the
passes of a fit, and of the replay buffer, which holds several of those."""
MOST_NUMBERS = 3 * 2**20
"""Numbers in the states of a pass, and in those imagined; above 245 dimensions there are fewer
steps, but not fewer than the least numbers of horizons and streams."""


class MobILESettings(Settings):
    """Hyper-parameters of MobILE; each part is configured by constructing it."""

    dynamics: AbstractDynamics = EnsembleDynamics(
        width=200, optimiser=Adam(), plan=Passes(passes=8, batch_size=128, averaged=True)
    )
    """The model P̂ and its uncertainty."""
    termination: AbstractTermination = LearnedTermination()
    """What ends an imagined episode."""
    bonus: AbstractBonus = BufferNormalised()
    """Reward for uncertainty."""
    discriminator: AbstractDiscriminator = MMD()
    """Discriminator between the learner's and the expert's states."""
    planner: AbstractPlanner = TRPO(kl=0.02, critic=GAECritic(discount=None))
    """How the policy is improved inside the model."""
    policy: MLPPolicy = MLPPolicy(log_std_min=-4.0, state_noise=True)
    """The policy's network."""
    inference: Inference | None = Inference()
    """Actions inferred for the demonstrated steps, and their uses; None infers nothing. It is off
    where demonstrations hold a feature h(s) of the state."""
    floor: bool = True
    """Heed the noise floor, which is the expert's own distance from itself: costs count for as much
    as the distance exceeds it, and the policy to return is the newest of those that it, and how
    much a policy's own episodes differ, cannot tell apart."""
    fall_back: bool = True
    """Go on from the selected policy where the world says that the newest has lost what was
    learned: its squared distance is, beyond noise, twice the smallest one so far."""
    weight: float = 0.1
    """λ: weight of the exploration bonus in the cost; 0 turns it off."""
    balanced: bool = True
    """Weigh the bonus in units of the discriminator's cost: over the imagined steps both vary by
    as much before λ is applied."""
    policy_steps: int = 10
    """K: policy steps per iteration."""
    refit: bool = True
    """Fit the discriminator at every policy step; otherwise once per iteration."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    imagined_streams: int | None = None
    """Imagined trajectories per policy step, each of one horizon; None for as many as have about
    6,400 steps, at least 16 and at most 128."""
    expert_starts: float = 0.2
    """Share of imagined trajectories that begin in a demonstrated state instead of a reset one."""
    paired: bool = True
    """Fit the discriminator on imagined trajectories that begin where demonstrations began, so that
    it cannot tell them apart by their first states; otherwise on those from reset states."""
    buffer_horizons: int | None = None
    """Replay buffer size, in horizons; every model is fitted to all of it. None for 19,200
    transitions, at least 96 horizons: the inverse models draw from all of it in each pass, the
    others are fitted to the newest third."""
    runaway: float = 2.0
    """An imagined trajectory has run away when the normalised norm of its state exceeds this
    multiple of the largest one demonstrated or visited."""

    def __post_init__(self):
        require_at_least(self, 1, "policy_steps", "streams", "runaway")
        for name in ("imagined_streams", "buffer_horizons"):
            if getattr(self, name) is not None:
                require_at_least(self, 1, name)
        require_share(self, "weight", "expert_starts")
        if self.inference is not None and self.streams < 2:
            raise ValueError(
                "inference needs a second stream for the clone to act in; use streams=2, or "
                "inference=None"
            )
        self.bonus.check(self.dynamics)

    def for_problem(self, problem: Problem) -> "MobILESettings":
        """The settings with what follows from the environment filled in."""
        horizon, streams = problem.horizon, self.imagined_streams
        if streams is None:
            steps = min(IMAGINED_STEPS, _most_steps(problem))
            streams = min(max(steps // horizon, FEWEST_STREAMS), MOST_STREAMS)
        return replace(
            self,
            imagined_streams=streams,
            planner=self.planner.for_horizon(horizon),
            discriminator=self.discriminator.at_rate(problem.every),
            inference=None if problem.feature_map is not None else self.inference,
        )

    def empty_buffer(self, problem: Problem) -> Buffer:
        """A replay buffer of the right size."""
        size, per_pass = self.buffer_horizons, None
        if size is None:
            steps = min(PASS_STEPS, _most_steps(problem))
            horizons = max(steps // problem.horizon, PASS_HORIZONS)
            size, per_pass = KEPT_PASSES * horizons, horizons * problem.horizon
        transition = Transition.zeros(problem.state_dim, problem.actions)
        return Buffer.empty(transition, size * problem.horizon, ENDINGS, RESETS, per_pass)


def _most_steps(problem: Problem) -> int:
    return MOST_NUMBERS // (2 * problem.state_dim)
