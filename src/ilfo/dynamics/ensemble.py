"""Ensemble of MLPs on normalised state differences (paper, section 'Practical Instantiation').

    h_θ(s, a) = s + μ_Δ + σ_Δ · MLP_θ((s - μ_s)/σ_s, (a - μ_a)/σ_a)
    δ(s, a)   = max over pairs of members ‖(h_θi(s, a) - h_θj(s, a))/σ_Δ‖₂

The paper has δ in the units of the state, without σ_Δ (`scaled=False`); then the dimension that
changes most decides alone. Means and standard deviations are recomputed from the replay buffer at
every fit; the weights are those of the last fit (`warm_start`) or new. Shapes: S states, A encoded
actions, M members.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ilfo.common import fitting as training
from ilfo.common.buffer import Buffer
from ilfo.common.networks import MLP, mlp
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import Normaliser
from ilfo.common.validation import require_at_least, require_positive
from ilfo.dynamics.base import AbstractDynamics, AbstractModel

NOISY = 20.0
"""Squared prediction errors, relative to what they would be if those of the members were
independent, above which they are taken for noise of the environment. Members that are fitted alike
miss noise by all of it, and most of what is not fitted well each in its own way. Where the true
dynamics jump, as at a wall, they can miss alike without noise."""
NEGLIGIBLE = 0.05
"""Share of the variance of changes of state below which noise is not worth telling."""


class Ensemble(AbstractModel):
    """The fitted members, their weights stacked along a leading axis M."""

    networks: MLP
    actions: ActionSpace
    inputs: Normaliser
    differences: Normaliser
    noise: Float[Array, " S"] | None
    """Standard deviation of `sample` around a member's mean; None if it is always 0."""
    scaled: bool = True
    """Whether the uncertainty is in units of a step instead of the state's own."""

    @property
    def members(self):
        return self.networks.layers[0].bias.shape[0]

    def member(self, index):
        one = lambda x: x[index][None] if eqx.is_array(x) else x
        return eqx.tree_at(lambda e: e.networks, self, jax.tree.map(one, self.networks))

    def means(self, state: Float[Array, " S"], action: Array) -> Float[Array, "M S"]:
        """Every member's next state."""
        x = self.inputs(jnp.concatenate([state, self.actions.encode(action)]))
        out = eqx.filter_vmap(lambda network: network(x))(self.networks)
        return state + self.differences.inverse(out)

    def sample(self, state, action, *, key):
        member_key, noise_key = jax.random.split(key)
        means = self.means(state, action)
        drawn = means[0]
        if self.members > 1:
            drawn = means[jax.random.randint(member_key, (), 0, self.members)]
        if self.noise is None:
            return drawn
        return drawn + self.noise * jax.random.normal(noise_key, state.shape)

    def mean(self, state, action):
        return self.means(state, action).mean(0)

    def uncertainty(self, state, action):
        means = self.means(state, action)
        if self.scaled:
            means = means / self.differences.scale
        apart = ((means[:, None] - means[None]) ** 2).sum(-1)
        return jnp.sqrt(apart.max())


class EnsembleState(eqx.Module):
    model: Ensemble
    optimiser: Any


class EnsembleDynamics(AbstractDynamics):
    """Hyper-parameters of the ensemble."""

    members: int = 2
    """Number of networks; the bonus needs at least two."""
    width: int = 64
    """Units in each hidden layer."""
    depth: int = 2
    """Number of hidden layers."""
    optimiser: training.AbstractOptimiser = training.SGD()
    """Optimiser: SGD with momentum as in the paper, or Adam."""
    clip: float = 2.0
    """Largest gradient norm of a member; longer gradients are scaled down."""
    plan: training.Passes = training.Passes(passes=10)
    """Passes over the replay buffer and batch size per fit."""
    warm_start: bool = True
    """Continue from the weights of the last fit; otherwise start every fit from random weights."""
    stochastic: bool | None = None
    """Add Gaussian noise to predictions, with the standard deviation of the prediction errors on
    the replay buffer. None adds it only in dimensions where these are too large to come from the
    fit, which takes two members."""
    scaled: bool = True
    """Measure disagreement in units of a step, dimension by dimension; otherwise in the state's own
    units, where the dimension that changes most decides alone."""

    def __post_init__(self):
        require_positive(self, "clip")
        require_at_least(self, 1, "members", "width")
        require_at_least(self, 0, "depth")

    def init(self, state_dim, actions, *, key):
        inputs = state_dim + actions.encoded_dim
        networks = eqx.filter_vmap(lambda k: mlp(inputs, state_dim, self.width, self.depth, key=k))(
            jax.random.split(key, self.members)
        )
        model = Ensemble(
            networks,
            actions,
            Normaliser.identity(inputs),
            Normaliser.identity(state_dim),
            jnp.zeros(state_dim) if self._draws_noise else None,
            self.scaled,
        )
        return EnsembleState(model, self._optimiser_state(networks))

    def fit(self, state, new, buffer, *, key):
        init_key, fit_key = jax.random.split(key)
        if not self.warm_start:
            state = self.init(new.state.shape[-1], state.model.actions, key=init_key)
        model, seen = state.model, buffer.recent.items
        x = jnp.concatenate([seen.state, jax.vmap(model.actions.encode)(seen.action)], -1)
        inputs = Normaliser.fit(x, buffer.weight)
        differences = Normaliser.of_targets(seen.next_state - seen.state, buffer.weight)
        data = (inputs(x), differences(seen.next_state - seen.state))

        networks, optimiser_state, losses = eqx.filter_vmap(
            lambda network, opt, k: training.fit(
                _squared_error,
                network,
                opt,
                self._transform(),
                training.Dataset(data, buffer.recent.valid, buffer.per_pass),
                self.plan,
                key=k,
            )
        )(model.networks, state.optimiser, jax.random.split(fit_key, self.members))
        model = Ensemble(networks, model.actions, inputs, differences, model.noise, self.scaled)
        log = {"model_loss": losses.mean()}
        if self._draws_noise:
            noise = self._noise(model, buffer)
            model = eqx.tree_at(lambda m: m.noise, model, noise)
            log |= {"model_noise": ((noise / differences.scale) ** 2).mean()}
        return EnsembleState(model, optimiser_state), log

    @property
    def _draws_noise(self) -> bool:
        return self.members > 1 if self.stochastic is None else self.stochastic

    def _noise(self, model: Ensemble, buffer: Buffer) -> Float[Array, " S"]:
        """The standard deviation of the noise in each dimension."""
        seen = buffer.recent.items
        means = jax.vmap(model.means)(seen.state, seen.action)
        residual = seen.next_state - means.mean(1)
        spread = Normaliser.of_targets(residual, buffer.weight).scale
        if self.stochastic is not None:
            return spread
        share = buffer.weight / jnp.maximum(buffer.weight.sum(), 1.0)
        error, independent = share @ residual**2, share @ means.var(1, ddof=1) / self.members
        noisy = error > jnp.maximum(NOISY * independent, NEGLIGIBLE * model.differences.scale**2)
        return jnp.where(noisy, spread, 0.0)

    def _transform(self) -> optax.GradientTransformation:
        return optax.chain(optax.clip_by_global_norm(self.clip), self.optimiser.build())

    def _optimiser_state(self, networks):
        return eqx.filter_vmap(self._transform().init)(eqx.filter(networks, eqx.is_inexact_array))


def _squared_error(network, rows, weight):
    x, target = rows
    error = ((jax.vmap(network)(x) - target) ** 2).mean(-1)
    return (weight * error).sum() / jnp.maximum(weight.sum(), 1.0)
