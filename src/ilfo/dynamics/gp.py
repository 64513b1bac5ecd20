"""Gaussian process dynamics (the paper mentions them beside KNRs), one process per dimension.

    P̂(·|s, a) = N(μ(s, a), noise² I),   μ(x) = k(x)ᵀ(K + noise² I)⁻¹ Y
    s²(x)     = k(x, x) − k(x)ᵀ(K + noise² I)⁻¹ k(x)
    σ(s, a)   = β s(s, a)/noise
    β         = √S · (bound + √(2 ln(S/δ) + ln det(I + K/noise²)))

In single precision s² is computed as a minimum over w,

    s²(x) ≤ ‖φ(x) − Σ wᵢφ(xᵢ)‖² + noise²‖w‖²,   equal at w = (K + noise² I)⁻¹k(x),

so that rounding errors in w can only make it larger; a bound on the rounding error of the first
term is added.

β is the usual self-normalised bound, once for each of S dimensions. It holds if each dimension of
the true dynamics has norm at most `bound` in the kernel's space and Gaussian noise of that standard
deviation.

**More than `capacity` transitions.** Up to `capacity` transitions all of this is exact. Beyond,
μ and s come from a ridge regression on the kernel's features φ with ridge noise², which contains
every transition since the first. The formulas agree for the kernel φ(x)·φ(y), since
s² = noise²·‖φ‖² in Σ⁻¹ and the determinants are equal. For polynomial features that is the same
kernel. For the RBF kernel random Fourier features are an approximation, and β then covers functions
that are linear in φ. In both forms the cost of a fit does not grow with the data.

Shapes: C capacity, n inputs, S states, D features.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ilfo.common.pytrees import where
from ilfo.common.validation import require_at_least
from ilfo.dynamics.base import Calibrated
from ilfo.dynamics.features import FittedFeatures
from ilfo.dynamics.ridge import Ridge
from ilfo.dynamics.scales import CalibratedRegression, Scales

ROUNDING = 2.0**-24
"""Relative rounding error of a number in single precision."""


class GP(Calibrated):
    """The fitted model."""

    scales: Scales
    features: FittedFeatures
    inputs: Float[Array, "C n"]
    valid: Bool[Array, " C"]
    coefficients: Float[Array, "C S"]
    """(K + noise² I)⁻¹ Y."""
    inverse_root: Float[Array, "C C"]
    """L⁻¹ of LLᵀ = K + noise² I."""
    kernel: Float[Array, "C C"]
    """K."""
    weights: Float[Array, "D S"]
    feature_inverse_root: Float[Array, "D D"]
    exact: Bool[Array, ""]
    """There are at most `capacity` transitions so far."""
    beta: Float[Array, ""]
    noise: Float[Array, ""]

    def mean(self, state, action):
        x = self.scales.input(state, action)
        output = jax.lax.cond(
            self.exact,
            lambda: self._to_data(x) @ self.coefficients,
            lambda: self.features(x) @ self.weights,
        )
        return self.scales.next_state(state, output)

    def sample(self, state, action, *, key):
        noise = self.noise * self.scales.outputs.scale * jax.random.normal(key, state.shape)
        return self.mean(state, action) + noise

    def standard_deviation(self, state: Float[Array, " S"], action: Array) -> Float[Array, ""]:
        """s(s, a): the posterior standard deviation of the mean, equal in all dimensions."""
        x = self.scales.input(state, action)

        def exact():
            own, near = self.features.kernel(x, x), self._to_data(x)
            w = (self.inverse_root @ near) @ self.inverse_root
            left = own - 2 * w @ near + w @ (self.kernel @ w)
            size = jnp.sqrt(own) + jnp.abs(w) @ jnp.sqrt(jnp.diagonal(self.kernel))
            left = jnp.maximum(left, 0.0) + ROUNDING * size**2
            return jnp.sqrt(left + self.noise**2 * (w @ w))

        def by_features():
            return self.noise * jnp.linalg.norm(self.features(x) @ self.feature_inverse_root)

        return jax.lax.cond(self.exact, exact, by_features)

    def uncertainty(self, state, action):
        return self.beta * self.standard_deviation(state, action) / self.noise

    def _to_data(self, x: Float[Array, " n"]) -> Float[Array, " C"]:
        near = jax.vmap(lambda y: self.features.kernel(x, y))(self.inputs)
        return jnp.where(self.valid, near, 0.0)


class GPState(eqx.Module):
    model: GP
    targets: Float[Array, "C S"]
    regression: Ridge
    seen: Int[Array, ""]


class GPDynamics(CalibratedRegression):
    """Hyper-parameters of the Gaussian process."""

    noise: float = 0.05
    """Standard deviation of the true dynamics' noise, in the units of scaled differences."""
    capacity: int = 1000
    """Number of transitions up to which the process is exact; beyond, it uses the features."""
    bound: float = 1.0
    """Bound on the norm of each dimension's dynamics in the kernel's space, in β."""

    def __post_init__(self):
        self.check_settings()
        require_at_least(self, 1, "capacity")
        require_at_least(self, 0, "bound")
        if isinstance(self.noise, int | float) and self.noise**2 < self.capacity * ROUNDING:
            raise ValueError(
                f"GPDynamics.noise is {self.noise}, but single precision needs at least "
                f"{math.sqrt(self.capacity * ROUNDING):.2g} for a capacity of {self.capacity}; "
                "choose a smaller capacity or more noise"
            )

    def init(self, state_dim, actions, *, key):
        features = self.features.init(state_dim, actions, key=key)
        scales = Scales.identity(state_dim, actions, self.scaled)
        inputs = jnp.zeros((self.capacity, state_dim + actions.encoded_dim))
        targets = jnp.zeros((self.capacity, state_dim))
        regression = Ridge.empty(features.dim, state_dim, self.noise**2)
        seen = jnp.zeros((), jnp.int32)
        model = self._model(scales, features, inputs, targets, regression, seen)
        return GPState(model, targets, regression, seen)

    def fit(self, state, new, buffer, *, key):
        scales, features = state.model.scales, state.model.features
        if self.scaled:
            scales = where(state.seen == 0, scales.fitted(new), scales)
        x, y = jax.vmap(scales.input)(new.state, new.action), scales.target(new)
        slot = state.seen + jnp.arange(x.shape[0])
        inputs = state.model.inputs.at[slot].set(x, mode="drop")
        targets = state.targets.at[slot].set(y, mode="drop")
        regression = state.regression.update(jax.vmap(features)(x), y)
        # not counted beyond capacity + 1: the integer would overflow in a long run
        seen = jnp.minimum(state.seen + x.shape[0], self.capacity + 1)
        model = self._model(scales, features, inputs, targets, regression, seen)
        predicted = jax.vmap(model.mean)(new.state, new.action)
        error = (predicted - new.next_state) / scales.outputs.scale
        log = {"model_loss": (error**2).mean(), "exact": model.exact.astype(jnp.float32)}
        return GPState(model, targets, regression, seen), log

    def _model(self, scales, features, inputs, targets, regression, seen) -> GP:
        valid = jnp.arange(self.capacity) < seen
        exact = seen <= self.capacity
        kernel = jax.vmap(lambda x: jax.vmap(lambda y: features.kernel(x, y))(inputs))(inputs)
        both = jnp.where(valid[:, None] & valid, kernel, 0.0)
        root = jnp.linalg.cholesky(both + self.noise**2 * jnp.eye(self.capacity))
        inverse = jax.scipy.linalg.solve_triangular(root, jnp.eye(self.capacity), lower=True)
        gained = 2 * jnp.log(jnp.diagonal(root) / self.noise).sum()
        information = jnp.where(exact, gained, regression.information)
        return GP(
            scales,
            features,
            inputs,
            valid,
            inverse.T @ (inverse @ targets),
            inverse,
            both,
            regression.weights,
            regression.inverse_root,
            exact,
            self._beta(information, targets.shape[1]),
            jnp.asarray(self.noise, jnp.float32),
        )

    def _beta(self, information: Float[Array, ""], outputs: int) -> Float[Array, ""]:
        if self.beta is not None:
            return jnp.asarray(self.beta, jnp.float32)
        unlikely = 2 * math.log(outputs / self.delta)
        return math.sqrt(outputs) * (self.bound + jnp.sqrt(unlikely + information))
