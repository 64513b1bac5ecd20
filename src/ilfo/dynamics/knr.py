"""Kernelised nonlinear regulator (paper, example 'KNRs' and appendix): ridge on features.

    P̂_t(·|s, a) = N(Ŵ_t φ(s, a), noise² I)
    σ_t(s, a)   = β_t/noise · ‖φ(s, a)‖ in Σ_t⁻¹,   Σ_t = ridge·I + sum of φφᵀ from step 0 on
    β_t²        = 2·ridge·‖W*‖² + 8·noise²·(S ln 5 + 2 ln(t²/δ) + ln 4 + ln det Σ_t/det(ridge·I))

Calibrated if the true dynamics are W*φ(s, a) plus Gaussian noise of that standard deviation. With
`scaled`, inputs and differences of states have the units of the first iteration's transitions;
total variation does not depend on units. A fit adds only the new transitions to the regression, so
its cost does not grow with the data. Shapes: S states, D features.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.common.pytrees import where
from ilfo.common.validation import require_at_least, require_positive
from ilfo.dynamics.base import Calibrated
from ilfo.dynamics.features import FittedFeatures
from ilfo.dynamics.ridge import Ridge
from ilfo.dynamics.scales import CalibratedRegression, Scales


class KNR(Calibrated):
    """The fitted model."""

    scales: Scales
    features: FittedFeatures
    weights: Float[Array, "D S"]
    inverse_root: Float[Array, "D D"]
    beta: Float[Array, ""]
    noise: Float[Array, ""]

    def mean(self, state, action):
        phi = self.features(self.scales.input(state, action))
        return self.scales.next_state(state, phi @ self.weights)

    def sample(self, state, action, *, key):
        noise = self.noise * self.scales.outputs.scale * jax.random.normal(key, state.shape)
        return self.mean(state, action) + noise

    def novelty(self, state: Float[Array, " S"], action: Array) -> Float[Array, ""]:
        """‖φ(s, a)‖ in Σ⁻¹."""
        phi = self.features(self.scales.input(state, action))
        return jnp.linalg.norm(phi @ self.inverse_root)

    def uncertainty(self, state, action):
        return self.beta / self.noise * self.novelty(state, action)


class KNRState(eqx.Module):
    model: KNR
    regression: Ridge
    fits: Int[Array, ""]


class KNRDynamics(CalibratedRegression):
    """Hyper-parameters of the KNR."""

    ridge: float = 0.01
    """Ridge of the regression, in Σ and β."""
    weight_bound: float = 1.0
    """Bound on the spectral norm of W*, in β."""

    def __post_init__(self):
        self.check_settings()
        require_positive(self, "ridge")
        require_at_least(self, 0, "weight_bound")

    def init(self, state_dim, actions, *, key):
        features = self.features.init(state_dim, actions, key=key)
        scales = Scales.identity(state_dim, actions, self.scaled)
        regression = Ridge.empty(features.dim, state_dim, self.ridge)
        fits = jnp.zeros((), jnp.int32)
        return KNRState(self._model(scales, features, regression, fits), regression, fits)

    def fit(self, state, new, buffer, *, key):
        scales, features, fits = state.model.scales, state.model.features, state.fits + 1
        if self.scaled:
            scales = where(state.fits == 0, scales.fitted(new), scales)
        phi = jax.vmap(features)(jax.vmap(scales.input)(new.state, new.action))
        target = scales.target(new)
        regression = state.regression.update(phi, target)
        model = self._model(scales, features, regression, fits)
        log = {
            "model_loss": ((phi @ model.weights - target) ** 2).mean(),
            "information": regression.information,
        }
        return KNRState(model, regression, fits), log

    def _model(self, scales, features, regression, fits) -> KNR:
        return KNR(
            scales,
            features,
            regression.weights,
            regression.inverse_root,
            self._beta(regression, fits),
            jnp.asarray(self.noise, jnp.float32),
        )

    def _beta(self, regression: Ridge, fits: Int[Array, ""]) -> Float[Array, ""]:
        if self.beta is not None:
            return jnp.asarray(self.beta, jnp.float32)
        outputs = regression.moments.shape[1]
        often = 4 * jnp.log(jnp.maximum(fits, 1).astype(jnp.float32))
        constant = outputs * math.log(5) + 2 * math.log(1 / self.delta) + math.log(4)
        return jnp.sqrt(
            2 * self.ridge * self.weight_bound**2
            + 8 * self.noise**2 * (constant + often + regression.information)
        )
