"""ILPO: explain once, remap online, discrete actions only."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.seeds import one_seed
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.discretise import Discretise
from ilfo.methods.ilpo import ILPO
from ilfo.policies.host import HostPolicy
from ilfo.policies.latent import LatentPolicy
from tests.helpers.agents import HORIZON, bits
from tests.helpers.environments import Line, middle_seekers, towards_the_middle
from tests.helpers.methods import STEP, small_baseline


@pytest.fixture(scope="module")
def trained(cache_home):
    return small_baseline("ilpo").learn(3 * STEP)


def test_demonstrations_are_explained_once(trained):
    early = small_baseline("ilpo").learn(STEP)
    assert bits(early.state.latent) == bits(trained.state.latent)
    assert bits(early.state.policy.latent) == bits(trained.state.policy.latent)
    assert bits(early.state.policy.remap) != bits(trained.state.policy.remap)
    fresh = small_baseline("ilpo")
    fresh._prepare()
    assert bits(fresh.state.latent) != bits(early.state.latent)


def test_the_likeliest_latent_action_is_remapped(trained):
    policy = one_seed(trained.state.policy, 0)
    assert isinstance(policy, LatentPolicy)
    for state in np.random.default_rng(0).normal(size=(5, 4)):
        z = jnp.argmax(policy.latent.distribution(state).logits)
        expected = policy.remap.distribution(jnp.concatenate([state, jnp.eye(2)[z]])).logits
        np.testing.assert_allclose(policy.distribution(state).logits, expected, rtol=1e-5)


def test_the_policy_in_numpy_is_the_same(trained):
    states = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
    policy = one_seed(trained.state.policy, 1)
    mine = HostPolicy.single(policy).outputs(states[None])[0]
    theirs = jax.vmap(lambda s: policy.distribution(s).logits)(states)
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def pendulum_states():
    environment = gym.make("Pendulum-v1", max_episode_steps=HORIZON)
    states = [environment.reset(seed=0)[0]]
    for _ in range(HORIZON):
        states.append(environment.step(np.zeros(1, np.float32))[0])
    return Demonstrations.from_arrays([np.stack(states)], terminal=False)


def test_continuous_actions_are_refused_and_discretised_ones_are_not(cache_home):
    with pytest.raises(ValueError, match=r"ilpo needs discrete actions.*continuous.*Discretise"):
        ILPO("Pendulum-v1", pendulum_states(), horizon=HORIZON)
    discrete = lambda: Discretise(gym.make("Pendulum-v1"), bins=3)
    agent = small_baseline("ilpo", pendulum_states(), discrete, seeds=1).learn(STEP)
    assert agent.predict(np.zeros(3))[0] in (0, 1, 2)


def test_on_a_line_latent_actions_are_remapped_to_the_true_ones(cache_home):
    changes = (
        "latent.plan.passes=60",
        "latent.optimiser.learning_rate=0.01",
        "cloning.plan.passes=10",
        "cloning.optimiser.learning_rate=0.01",
    )
    agent = small_baseline("ilpo", middle_seekers(HORIZON), Line, changes=changes).learn(6 * STEP)
    places = np.array([[-0.9], [-0.5], [-0.2], [0.2], [0.5], [0.9]], np.float32)
    for index in range(len(agent.seeds)):
        policy = one_seed(agent.state.policy, index)
        chances = jax.vmap(lambda s, policy=policy: jax.nn.softmax(policy.distribution(s).logits))(
            places
        )
        right = np.asarray(chances)[np.arange(len(places)), towards_the_middle(places[:, 0])]
        assert (right > 0.8).all(), right
