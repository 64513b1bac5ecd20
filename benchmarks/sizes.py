"""Sizes of one MobILE iteration on the paper's tasks.

All sides of `benchmarks/iteration.py` read their shapes and counts from here, so that a ratio
of times compares the same work. Nothing in this file depends on a numerical library.
"""

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Shapes, counts and hyper-parameters that determine the work."""

    state_dim: int
    action_dim: int
    """Length of a continuous action, or the number of discrete ones (one-hot in the model)."""
    discrete: bool
    horizon: int
    streams: int
    """Parallel model rollouts per policy step, each `horizon` long."""
    buffer: int
    """Transitions that the dynamics model is trained on."""
    members: int
    dynamics_width: int
    dynamics_depth: int = 2
    """Hidden layers of each member."""
    batch: int
    passes: int
    clip: float
    """Bound on the norm of one member's gradient."""
    features: int
    """Random Fourier features."""
    policy_width: int
    policy_steps: int
    """Policy steps per outer iteration, the paper's K_PG."""
    cg_iterations: int
    damping: float
    kl: float
    gae_lambda: float
    gamma: float
    critic_width: int
    critic_batch: int
    critic_passes: int

    def __post_init__(self) -> None:
        if self.streams % self.members:
            raise ValueError(
                f"streams is {self.streams}, but must be a multiple of members, which is "
                f"{self.members}"
            )
        if self.batch > self.buffer or self.critic_batch > self.samples:
            raise ValueError(
                f"batch is {self.batch} and critic_batch is {self.critic_batch}, but must not "
                f"exceed buffer ({self.buffer}) and samples ({self.samples})"
            )

    @property
    def samples(self) -> int:
        """Model samples per policy step."""
        return self.streams * self.horizon

    @property
    def minibatches(self) -> int:
        """Full minibatches in one pass of dynamics training; the incomplete last one is dropped."""
        return self.buffer // self.batch

    @property
    def critic_minibatches(self) -> int:
        """Full minibatches in one pass of critic training; the incomplete last one is dropped."""
        return self.samples // self.critic_batch

    @property
    def dynamics_layers(self) -> tuple[int, ...]:
        """Widths from the model's input (state and action) to its output."""
        hidden = (self.dynamics_width,) * self.dynamics_depth
        return (self.state_dim + self.action_dim, *hidden, self.state_dim)


CARTPOLE = Sizes(
    state_dim=4,
    action_dim=2,
    discrete=True,
    horizon=500,
    streams=2,
    buffer=10 * 500,
    members=2,
    dynamics_width=64,
    batch=256,
    passes=20,
    clip=2.0,
    features=128,
    policy_width=64,
    policy_steps=3,
    cg_iterations=50,
    damping=1e-3,
    kl=0.01,
    gae_lambda=0.97,
    gamma=0.995,
    critic_width=128,
    critic_batch=64,
    critic_passes=1,
)

HOPPER = Sizes(
    state_dim=12,
    action_dim=3,
    discrete=False,
    horizon=400,
    streams=8,
    buffer=16 * 400,
    members=2,
    dynamics_width=512,
    batch=256,
    passes=50,
    clip=4.0,
    features=128,
    policy_width=32,
    policy_steps=10,
    cg_iterations=10,
    damping=1e-4,
    kl=0.025,
    gae_lambda=0.97,
    gamma=0.995,
    critic_width=128,
    critic_batch=64,
    critic_passes=2,
)


def dynamics_flops(sizes: Sizes) -> int:
    """Floating-point operations of one dynamics training, matrix products only.

    A backward pass counts as two forward ones. That includes the gradient with respect to the
    network's input, which is not computed: an overestimate by 1-2 % on Hopper.
    """
    forward = 2 * sizes.batch * sum(a * b for a, b in pairwise(sizes.dynamics_layers))
    return 3 * forward * sizes.members * sizes.minibatches * sizes.passes
