import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.discriminators.constant import ConstantCost
from tests.helpers.agents import as_steps, plain_mmd

SAMPLE = np.random.default_rng(0).normal(size=(20, 2, 3)).astype(np.float32)


def test_every_step_costs_the_same_and_nothing_costs_after_termination():
    spec = ConstantCost(plain_mmd(8))
    state = spec.init(as_steps(SAMPLE), None, key=jax.random.key(0))
    features = jax.vmap(state.features)(SAMPLE[:, 0], SAMPLE[:, 1])
    for mean in (features[0], features[1]):
        state = spec.fit(state, mean, features[2])
        np.testing.assert_array_equal(spec.cost(state, features), -1)
        assert spec.ending_costs(state) == (0, 0)


def test_policies_are_judged_by_the_features_of_the_wrapped_discriminator():
    wrapped = plain_mmd(8, input="pair")
    key = jax.random.key(0)
    own, its = (
        spec.init(as_steps(SAMPLE), None, key=key) for spec in (ConstantCost(wrapped), wrapped)
    )
    assert eqx.tree_equal(own, its)
    means = jnp.arange(10.0), jnp.ones(10)
    assert eqx.tree_equal(ConstantCost(wrapped).fit(own, *means), wrapped.fit(its, *means))
