"""GAIL and GAIfO: what the classifier sees, and that its cost is the planner's."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.callbacks import Callback
from ilfo.agents.seeds import one_seed
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.sampling import sample
from ilfo.discriminators.occupancy import sampled_occupancy
from tests.helpers.agents import HORIZON
from tests.helpers.environments import Echo, always_one
from tests.helpers.methods import STEP, demonstrations, small_baseline


def inputs_of(agent) -> int:
    return agent.state.classifier.fitted.network.layers[0].weight.shape[-2]


def test_gail_sees_state_and_action_gaifo_two_states(cache_home):
    """CartPole: four numbers, two actions; one more input stands for the absorbing state."""
    gail, gaifo = (small_baseline(name) for name in ("gail", "gaifo"))
    for agent in (gail, gaifo):
        agent._prepare()
    assert inputs_of(gail) == 4 + 2 + 1
    assert inputs_of(gaifo) == 4 + 4 + 1
    assert gaifo._expert.steps.actions is None
    np.testing.assert_array_equal(np.unique(gail._expert.steps.actions), [0, 1])


def test_time_after_termination_counts_up_to_the_horizon():
    """5 of 20 steps and an ending: 15 of 20 ages are absorbed. A truncated one has none."""
    generator = np.random.default_rng(0)
    states = [generator.normal(size=(6, 4)), generator.normal(size=(21, 4))]
    for terminal, share in (([True, False], 15 / 40), ([False, False], 0.0)):
        agent = small_baseline("gaifo", Demonstrations.from_arrays(states, terminal=terminal))
        _, absorbed = sampled_occupancy(agent.survey.steps, HORIZON)
        np.testing.assert_allclose(absorbed, share, rtol=1e-6)
    long = [generator.normal(size=(2 * HORIZON + 1, 4))]
    agent = small_baseline("gaifo", Demonstrations.from_arrays(long, terminal=True))
    weight, absorbed = sampled_occupancy(agent.survey.steps, HORIZON)
    assert absorbed == 0
    assert weight.sum() == HORIZON  # the first H steps


def test_gaifo_learns_from_a_feature_of_the_state(cache_home):
    first_two = lambda state: state[:2]
    seen = Demonstrations.from_arrays(
        [trajectory.states[:, :2] for trajectory in demonstrations()], terminal=False
    )
    agent = small_baseline("gaifo", seen, seeds=1, feature_map=first_two).learn(STEP)
    assert inputs_of(agent) == 2 + 2 + 1
    shift = agent.state.policy.normaliser.shift
    assert shift.shape == (1, 4)
    assert (shift != 0).all()  # from the first rollout: no demonstration shows states


def test_box_actions(cache_home):
    environment = gym.make("Pendulum-v1", max_episode_steps=HORIZON)
    states, actions = [environment.reset(seed=0)[0]], []
    for angle in np.linspace(-2, 2, HORIZON):
        actions.append(np.array([angle], np.float32))
        states.append(environment.step(actions[-1])[0])
    expert = Demonstrations.from_arrays([np.stack(states)], terminal=False, actions=[actions])
    agent = small_baseline("gail", expert, "Pendulum-v1", seeds=1).learn(STEP)
    np.testing.assert_allclose(
        np.sort(np.asarray(agent._expert.steps.actions).ravel()),
        np.linspace(-1, 1, HORIZON),
        atol=1e-6,
    )
    assert np.abs(agent.predict(states[0])[0]) <= 2


def test_some_demonstrations_without_actions_are_refused():
    first, second = demonstrations()
    mixed = [first, type(second)(second.states, second.terminal)]
    with pytest.raises(ValueError, match="only some of the demonstrations have actions"):
        sample(Demonstrations.stream(lambda: iter(mixed)), 100, np.random.default_rng(0))
    with pytest.raises(ValueError, match="some do not: trajectory 1 has none"):
        small_baseline("gail", Demonstrations.stream(lambda: iter(mixed)))


class Watch(Callback):
    def __init__(self):
        self.logs = []

    def on_iteration(self, agent, log):
        self.logs.append(log)


def test_where_the_expert_never_ends_an_ending_costs_more_than_a_step(cache_home):
    """The learner falls and the expert does not: that is what the classifier sees first."""
    states = [trajectory.states for trajectory in demonstrations()]
    expert = Demonstrations.from_arrays(states, terminal=False)
    watch = Watch()
    small_baseline("gaifo", expert, seeds=1).learn(10 * STEP, watch)
    first, last = watch.logs[0], watch.logs[-1]
    assert last["ending_cost"] > first["ending_cost"]
    assert last["ending_cost"] > last["cost"]


@pytest.mark.parametrize("method", ["gail", "gaifo"])
def test_what_the_expert_does_becomes_likelier(method, cache_home):
    """In Echo, whose expert always takes 1 and so is always in state 1, but for the first step."""
    changes = (
        "classifier.plan.passes=20",
        "classifier.optimiser.learning_rate=0.01",
        "planner.critic.discount=0.9",
    )
    agent = small_baseline(method, always_one(HORIZON), Echo, changes=changes)
    agent._prepare()
    np.testing.assert_allclose(chance_of_one(agent), 0.5, atol=0.05)
    agent.learn(20 * STEP)
    assert (chance_of_one(agent) > 0.9).all()


def chance_of_one(agent) -> np.ndarray:
    """Of each seed's policy that acts, in state 1."""
    policies = [one_seed(agent.state.policy, index) for index in range(len(agent.seeds))]
    logits = [policy.distribution(jnp.ones(1)).logits for policy in policies]
    return np.asarray(jax.nn.softmax(jnp.stack(logits)))[:, 1]
