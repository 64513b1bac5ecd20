"""Maximum mean discrepancy on random Fourier features (paper, 'Discriminator Update').

    f_w(s) = wᵀψ(s),  ψ(s) = √(2/D) cos(Ω z(s) + φ),  Ω ~ N(0, 1/bandwidth²),  φ ~ U(0, 2π)
    Δ      = E_π ψ - E_expert ψ,   MMD = ‖Δ‖
    ball:       w = ζ Δ/‖Δ‖           the maximiser of wᵀΔ over ‖w‖ ≤ ζ
    penalised:  w = Δ, shrunk onto the ball when longer than ζ   (the paper's 'exact' update)
    averaged:   w ← P((1 - η) w + η · target)                    (the paper's gradient ascent)
    whitened:   Δ becomes BΔ and f_w(s) = wᵀBψ(s), with BᵀB ∝ (C + ridge·c̄·I)⁻¹

The last line is not in the paper; it applies if `ridge` is set. C is the covariance, between
demonstrations, of a demonstration's mean features, and c̄ the mean of its variances. A difference
counts relative to how much the expert itself varies in that direction: little where demonstrations
differ from each other (which goal, which heading), much where they agree (how fast, how smoothly).
Time after termination is not whitened. This is a kernel Fisher discriminant with trajectories as
samples and the expert's scatter alone. The MMD is then ‖BΔ‖, which cannot be compared between
settings.

z(s) is the state scaled by the expert's standard deviations. Two more features, orthogonal to all
others and of the same norm as a state's, stand for the time after the end of an episode: one for
the absorbing state after termination, and one for imagined trajectories that ran away, where no
demonstration ever is. The terminal state itself has the features of any other state.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common.types import DemonstratedSteps, Normaliser, Rollout
from ilfo.common.validation import require_at_least, require_positive, require_share
from ilfo.discriminators.base import AbstractDiscriminator, AbstractFittedDiscriminator
from ilfo.discriminators.floor import Floor, by_leaving_out
from ilfo.discriminators.occupancy import Occupancy

ABSORBED, RUNAWAY = -2, -1
"""Indices of these two features in a feature vector."""
TRAJECTORIES = 1_000
"""Largest number of demonstrations whose covariance is computed."""
TRIFLE = 1e-12
"""Variance of mean features below which demonstrations count as equal."""

_DRAW = {
    "gaussian": jax.random.normal,
    "cauchy": jax.random.cauchy,
    "uniform": jax.random.uniform,
}

Input = Literal["state", "pair", "change"]


def scaled_input(
    kind: Input,
    states: Normaliser,
    changes: Normaliser,
    x: Float[Array, "*n F"],
    next_x: Float[Array, "*n F"],
) -> Float[Array, "*n I"]:
    """z: what the features see of a step, scaled by the expert's standard deviations."""
    reached = states(next_x)
    if kind == "pair":
        return jnp.concatenate([states(x), reached], -1)
    if kind == "change":
        return jnp.concatenate([reached, changes(next_x - x)], -1)
    return reached


class FourierFeatures(eqx.Module):
    """ψ: scaling of the input and random frequencies, drawn once per run."""

    frequencies: Float[Array, "D I"]
    phases: Float[Array, " D"]
    normaliser: Normaliser
    changes: Normaliser
    input: Input
    feature_map: Callable[[Array], Array] | None

    @property
    def size(self) -> int:
        """Number of features, D + 2."""
        return self.phases.shape[0] + 2

    def __call__(self, x: Float[Array, " F"], next_x: Float[Array, " F"]) -> Float[Array, " D+2"]:
        """ψ of one step, given what demonstrations contain: states, or h(s) for a feature map h."""
        z = scaled_input(self.input, self.normaliser, self.changes, x, next_x)
        waves = jnp.cos(self.frequencies @ z + self.phases)
        return jnp.concatenate([jnp.sqrt(2 / waves.size) * waves, jnp.zeros(2)])

    def observe(self, state: Float[Array, " S"]) -> Float[Array, " F"]:
        """What a demonstration would contain of the learner's state."""
        return state if self.feature_map is None else self.feature_map(state)


class MMDState(AbstractFittedDiscriminator):
    """A fitted discriminator."""

    psi: FourierFeatures
    w: Float[Array, " D+2"]
    temper: Float[Array, "D+2 D+2"] | None
    """B, the whitening matrix; None stands for the identity. Checkpoints store it by this name."""

    def features(self, state, next_state):
        return self.psi(self.psi.observe(state), self.psi.observe(next_state))

    def demonstrated(self, x, next_x):
        return self.psi(x, next_x)

    def __call__(self, features: Float[Array, "*n D+2"]) -> Float[Array, "*n"]:
        return features @ self.slope

    @property
    def slope(self) -> Float[Array, " D+2"]:
        """Gradient of f with respect to the features."""
        return self.w if self.temper is None else self.temper.T @ self.w

    def difference(
        self, mean: Float[Array, " D+2"], other: Float[Array, " D+2"]
    ) -> Float[Array, " D+2"]:
        """Difference of two mean features, whitened if `ridge` is set."""
        return mean - other if self.temper is None else self.temper @ (mean - other)

    def distance(self, mean, other):
        return safe_norm(self.difference(mean, other))


class MMD(AbstractDiscriminator):
    """Hyper-parameters of the MMD."""

    features: int = 256
    """Number of random Fourier features; the kernel's error is about 1/√features."""
    bandwidth_quantile: float | None = None
    """The largest bandwidth is this quantile of the distances between the expert's scaled steps;
    None for their root mean square. Where an expert rests, most distances are tiny: a quantile of
    them is a bandwidth at which a good imitator looks as far away as a random policy."""
    scales: int = 3
    """Number of bandwidths that share the features, each half of the one before: a wide one tells
    states apart that are far from each other, a narrow one those that are near."""
    frequencies: Literal["gaussian", "cauchy", "uniform"] = "gaussian"
    """Distribution of Ω: Gaussian for the RBF kernel; Cauchy for the Laplace kernel, which covers
    coarse and fine scales; uniform on [0, 1) as in the released code."""
    scaled: bool = True
    """Scale states by the expert's standard deviations; otherwise use them unscaled."""
    input: Input = "change"
    """What the features see of a step: the next state (`state`), the state and the next state
    (`pair`), or the next state and the change of state, which has its own scale (`change`)."""
    ridge: float | None = 1.0
    """Whiten differences by the covariance between demonstrations plus this ridge: a larger ridge
    whitens less. None does not whiten."""
    form: Literal["ball", "penalised"] = "ball"
    """Maximise over the ball of radius zeta, or solve the paper's penalised problem."""
    zeta: float = 1.0
    """Radius of the ball."""
    step: float = 0.33
    """Weight of the new solution in w: 1 is the exact update, a smaller value averages."""
    clip_min: float = -1.0
    """Lower bound of the cost."""
    clip_max: float = 1.0
    """Upper bound of the cost; with 0 it is never positive, as in the released code."""
    absorbing: bool = True
    """Count the time after termination as spent in an absorbing state, in demonstrations, real
    rollouts and imagined ones; otherwise it has no weight and no cost."""

    def __post_init__(self):
        require_positive(self, "zeta", "step")
        if self.ridge is not None:
            require_at_least(self, 1e-3, "ridge")  # smaller is 0 in single precision
        require_share(self, "step")
        if self.bandwidth_quantile is not None:
            require_share(self, "bandwidth_quantile")
        require_at_least(self, 1, "features", "scales")
        if self.clip_min >= self.clip_max:
            raise ValueError(
                f"clip_min is {self.clip_min}, but must be below clip_max, which is {self.clip_max}"
            )

    def init(
        self,
        sample: DemonstratedSteps,
        feature_map: Callable[[Array], Array] | None,
        *,
        key: Array,
    ) -> MMDState:
        """Draw ψ; `sample` sets its scale and bandwidth, and the whitening."""
        frequency_key, phase_key, pair_key = jax.random.split(key, 3)
        normaliser = changes = Normaliser.identity(sample.pairs.shape[-1])
        if self.scaled:
            normaliser, changes = sample.scales("after"), sample.scales("change")
        z = scaled_input(self.input, normaliser, changes, sample.before, sample.after)
        bandwidth = typical_distance(z, self.bandwidth_quantile, key=pair_key)
        frequencies = _DRAW[self.frequencies](frequency_key, (self.features, z.shape[1]))
        finer = 2.0 ** (jnp.arange(self.features) % self.scales)
        psi = FourierFeatures(
            frequencies * finer[:, None] / bandwidth,
            jax.random.uniform(phase_key, (self.features,), maxval=2 * jnp.pi),
            normaliser,
            changes,
            self.input,
            feature_map,
        )
        matrix = None
        if self.ridge is not None:
            waves = jax.vmap(psi)(sample.before, sample.after)[:, :ABSORBED]
            matrix = jnp.eye(psi.size)
            matrix = matrix.at[:ABSORBED, :ABSORBED].set(
                whitening(waves, sample.trajectory, self.ridge)
            )
        return MMDState(psi, jnp.zeros(psi.size), matrix)

    def at_rate(self, every: int) -> "MMD":
        """Neighbouring states that are not one step apart cannot be compared with the learner's
        steps: then the features see states alone."""
        return self if every == 1 else replace(self, input="state")

    def floor(self, state: MMDState, sample: DemonstratedSteps, horizon: int) -> Floor:
        """The whitening is fitted without the demonstrations left out: with them in it, it would
        make them look nearer to the others than new episodes are."""
        psi = jax.vmap(state.demonstrated)(sample.before, sample.after)
        waves, elapsed = psi[:, :ABSORBED], sample.elapsed
        counts = (elapsed < horizon).astype(jnp.float32)
        after = sample.terminal * (horizon - 1 - elapsed).clip(min=0) * float(self.absorbing)
        total = (psi * counts[:, None]).at[:, ABSORBED].add(after)
        by_demonstration = lambda x: jax.ops.segment_sum(x, sample.trajectory, TRAJECTORIES)
        time = by_demonstration(counts + after)
        means = by_demonstration(total) / jnp.maximum(time, 1e-9)[:, None]
        steps = by_demonstration(jnp.ones_like(counts))
        plain = by_demonstration(waves) / jnp.maximum(steps, 1)[:, None]

        def squared_distance(out: Bool[Array, " m"], rest: Bool[Array, " m"]):
            mean = lambda marks: (marks[:, None] * means).sum(0) / jnp.maximum(marks.sum(), 1)
            away = mean(out) - mean(rest)
            if self.ridge is not None:
                matrix = whitening_of(plain, rest, waves, self.ridge)
                away = jnp.concatenate([matrix @ away[:ABSORBED], away[ABSORBED:]])
            return (away**2).sum()

        return by_leaving_out(time > 0, squared_distance)

    def fit(
        self, state: MMDState, policy_mean: Float[Array, " D+2"], expert_mean: Float[Array, " D+2"]
    ) -> MMDState:
        difference = state.difference(policy_mean, expert_mean)
        length = safe_norm(difference)
        target = self.zeta * difference / length if self.form == "ball" else difference
        w = (1 - self.step) * state.w + self.step * target
        return MMDState(state.psi, w * jnp.minimum(1.0, self.zeta / safe_norm(w)), state.temper)

    def cost(self, state: MMDState, features: Float[Array, "*n D+2"]) -> Float[Array, "*n"]:
        return jnp.clip(state(features), self.clip_min, self.clip_max)

    def ending_costs(self, state: MMDState) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Cost per step after termination, and after an imagined trajectory ran away."""
        if not self.absorbing:
            return jnp.zeros(()), jnp.zeros(())
        clip = lambda x: jnp.clip(x, self.clip_min, self.clip_max)
        return clip(state.slope[ABSORBED]), clip(state.slope[RUNAWAY])

    def total_features(
        self, features: Float[Array, "N T D+2"], rollout: Rollout, occupancy: Occupancy
    ) -> tuple[Float[Array, " D+2"], Float[Array, ""]]:
        """Weighted Σ ψ, including the time after the end of episodes, and the sum of weights."""
        after = occupancy.after_termination * float(self.absorbing)
        absorbed, runaway = (rollout.terminal * after).sum(), (rollout.runaway * after).sum()
        total = jnp.einsum("ntd,nt->d", features, occupancy.step)
        ended = jnp.stack([absorbed, runaway])  # in the places ABSORBED and RUNAWAY, the last two
        total = total + jnp.pad(ended, (total.size - 2, 0))
        return total, occupancy.step.sum() + absorbed + runaway


def safe_norm(x: Float[Array, " n"]) -> Float[Array, ""]:
    """‖x‖, kept above zero so that it can be a divisor."""
    return jnp.sqrt(jnp.maximum((x**2).sum(), 1e-20))


def whitening(
    features: Float[Array, "n D"], trajectory: Int[Array, " n"], ridge: float
) -> Float[Array, "D D"]:
    """B, scaled so that the mean of ‖Bψ‖² over the steps is 1.

    `trajectory` is the demonstration that each step is from. C is the covariance of the means over
    the given steps of each of the first TRAJECTORIES demonstrations; with few steps per
    demonstration, it includes variance within demonstrations. If C is zero, as for a single
    demonstration, B is a multiple of the identity.
    """
    sums = jax.ops.segment_sum(features, trajectory, TRAJECTORIES)
    counts = jax.ops.segment_sum(jnp.ones(len(features)), trajectory, TRAJECTORIES)
    means = sums / jnp.maximum(counts, 1)[:, None]
    return whitening_of(means, counts > 0, features, ridge)


def whitening_of(
    means: Float[Array, "m D"],
    counts: Bool[Array, " m"],
    features: Float[Array, "n D"],
    ridge: float,
) -> Float[Array, "D D"]:
    """B from the mean features of demonstrations, of which only some count."""
    away = jnp.where(counts[:, None], means - (counts[:, None] * means).sum(0) / counts.sum(), 0)
    spread = away.T @ away / jnp.maximum(counts.sum() - 1, 1)
    level = jnp.trace(spread) / len(spread)
    identity = jnp.eye(len(spread))
    spread = jnp.where(level > TRIFLE, spread / jnp.maximum(level, TRIFLE), 0 * identity)
    root = jnp.linalg.cholesky(spread + ridge * identity)
    matrix = jax.scipy.linalg.solve_triangular(root, identity, lower=True)
    return matrix / safe_norm((features @ matrix.T).ravel()) * jnp.sqrt(len(features))


def typical_distance(
    z: Float[Array, "n I"], quantile: float | None, *, key: Array, pairs: int = 100_000
) -> Float[Array, ""]:
    """Quantile of the distances of random pairs of distinct rows, where equal ones do not count; or
    the root mean square of the distances of all pairs."""
    n = z.shape[0]
    if quantile is None:
        squared = 2 * z.var(0).sum() * n / max(n - 1, 1)  # over all pairs
        return jnp.where(squared > 0, jnp.sqrt(squared), 1.0)
    first_key, second_key = jax.random.split(key)
    first = jax.random.randint(first_key, (pairs,), 0, n)
    second = (first + jax.random.randint(second_key, (pairs,), 1, max(n, 2))) % n
    distances = jnp.sqrt(((z[first] - z[second]) ** 2).sum(-1))
    apart = jnp.where(distances > 0, distances, jnp.nan)
    return jnp.nan_to_num(jnp.nanquantile(apart, quantile), nan=1.0)
