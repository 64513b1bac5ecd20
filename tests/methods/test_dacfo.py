"""DACfO: what its classifier and learner see, what an ending is worth, and that it learns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.seeds import one_seed
from ilfo.data.demonstrations import Demonstrations
from ilfo.methods.dacfo import DACfOSettings
from tests.helpers.agents import HORIZON
from tests.helpers.environments import Slide, slides_to_the_middle
from tests.helpers.methods import STEP, demonstrations, small_baseline, swings


def test_discrete_actions_are_refused_before_any_work():
    with pytest.raises(ValueError, match=r"dacfo needs continuous actions \(a Box\).*Discrete"):
        small_baseline("dacfo", demonstrations(), "CartPole-v1")


def test_the_replay_holds_the_steps_and_no_rewards(cache_home):
    agent = small_baseline("dacfo", seeds=1).learn(STEP)
    replay, time = (one_seed(ring, 0) for ring in (agent.state.replay, agent.state.time))
    assert int(replay.pushed) == int(time.pushed) == STEP
    assert (replay.items.reward == 0).all()
    np.testing.assert_allclose(time.items.step[:STEP], 0.5)  # two streams, so each age twice
    assert (time.items.step[STEP:] == 0).all()
    steps = jax.tree.map(lambda x: np.asarray(x[:STEP]), replay.items.transition)
    assert (np.abs(steps.action) <= 1).all()
    follow = steps.next_state[: HORIZON - 1] == steps.state[1:HORIZON]
    assert follow.all()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="updates is 0"):
        DACfOSettings(updates=0)
    with pytest.raises(ValueError, match="capacity is 0"):
        DACfOSettings(capacity=0)


def test_it_learns_from_a_feature_of_the_state(cache_home):
    seen = Demonstrations.from_arrays([each.states[:, :2] for each in swings()], terminal=False)
    angle = lambda state: state[:2]
    agent = small_baseline("dacfo", seen, seeds=1, feature_map=angle).learn(STEP)
    network = agent.state.classifier.fitted.network
    assert network.layers[0].weight.shape[-2] == 2 + 2 + 1
    shift = agent.state.policy.normaliser.shift
    assert shift.shape == (1, 3)
    assert (shift != 0).all()  # from the first rollout: no demonstration shows states


LEARNING = (
    "classifier.width=32",
    "learner.width=32",
    "classifier.batch_size=64",
    "learner.batch_size=64",
    "classifier.optimiser.learning_rate=0.003",
    "learner.optimiser.learning_rate=0.003",
    "learner.discount=0.9",
    "updates=4",
    "classifier_updates=2",
    "capacity=1000",
)


def pushes(agent, places) -> np.ndarray:
    """The greedy action in these places, of each seed."""
    policies = [one_seed(agent.state.policy, index) for index in range(len(agent.seeds))]
    greedy = [jax.vmap(lambda s, p=p: p.distribution(s).mode()) for p in policies]
    return np.stack([act(jnp.asarray(places))[:, 0] for act in greedy])


def test_it_goes_where_the_expert_goes(cache_home):
    agent = small_baseline("dacfo", slides_to_the_middle(HORIZON), Slide, changes=LEARNING)
    agent.learn(12 * STEP)
    places = np.array([[-0.8], [-0.4], [0.4], [0.8]], np.float32)
    assert (pushes(agent, places) * -places[:, 0] > 0).all()


@pytest.mark.parametrize("ends", [True, False])
def test_an_ending_is_rewarded_as_the_expert_ends_and_avoided_if_it_does_not(ends, cache_home):
    """Beyond 1 the episode ends. The expert either goes there or stays in the middle."""
    expert = slides_to_the_middle(HORIZON)
    if ends:
        way = np.linspace(0, 1.1, 12, dtype=np.float32)[:, None]
        expert = Demonstrations.from_arrays([way] * 3, terminal=True)
    agent = small_baseline("dacfo", expert, Slide, changes=LEARNING, accept_anyway=True)
    agent.learn(12 * STEP)
    assert ((agent.history["ending_reward"][-1] > 0) == ends).all()
    if not ends:
        assert (pushes(agent, np.array([[0.6]], np.float32)) < 0).all()
