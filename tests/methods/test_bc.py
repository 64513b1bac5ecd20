"""Behaviour cloning: which epochs are kept, and what it can do without."""

import gymnasium as gym
import numpy as np
import pytest

from ilfo.agents.callbacks import Callback
from ilfo.common.fitting import Passes
from ilfo.data.demonstrations import Demonstrations
from ilfo.methods.bc import BC, BCSettings
from ilfo.policies.cloning import Cloning
from tests.helpers.agents import bits
from tests.helpers.methods import demonstrations, small_baseline


class Diary(Callback):
    def __init__(self):
        self.logs, self.policies = [], []

    def on_start(self, agent):
        self.policies.append(agent.state.policy)

    def on_iteration(self, agent, log):
        self.logs.append(log)
        self.policies.append(agent.state.policy)


@pytest.fixture(scope="module")
def watched(cache_home):
    agent, diary = small_baseline("bc"), Diary()
    agent.learn(callback=diary)
    return agent, diary


def test_it_goes_on_for_its_passes_and_takes_no_online_samples(watched):
    agent, diary = watched
    assert agent.online_samples == 0
    assert agent.iteration == len(diary.logs) == agent.settings.passes // agent.settings.every + 1
    # the last iteration only measures
    assert bits(diary.policies[-1]) == bits(diary.policies[-2])
    assert bits(diary.policies[-2]) != bits(diary.policies[-3])


def test_the_policy_that_is_returned_had_the_highest_measured_return(watched):
    agent, diary = watched
    measured = np.stack([log["measured_return"] for log in diary.logs])
    best = measured.argmax(0)
    np.testing.assert_array_equal(agent.choice().iteration, best * agent.settings.every)
    np.testing.assert_allclose(agent.choice("best-return").value, -measured.max(0))
    spent = diary.logs[-1]["choosing_samples"]
    assert (spent >= measured.sum(0) * agent.settings.episodes - 1).all()  # 1 per step


def test_beside_it_stands_the_epoch_that_held_out_pairs_like_best(watched):
    agent, diary = watched
    seen = np.stack([log["held_out_loss"] for log in diary.logs])
    choice = agent.choice("held-out-likelihood")
    assert (np.asarray(choice.value) <= seen.min(0) + 1e-6).all()
    assert (np.asarray(choice.iteration) > 0).all()
    assert (np.asarray(choice.iteration) <= agent.settings.passes).all()


def test_without_an_environment_the_likelihood_chooses(cache_home):
    agent = small_baseline("bc", environment=None, action_space=gym.spaces.Discrete(2)).learn()
    assert bits(agent.policy(0)) == bits(agent.policy(0, "held-out-likelihood"))
    action, _ = agent.predict(np.zeros(4), deterministic=True)
    assert action in (0, 1)
    with pytest.raises(ValueError, match="without an environment"):
        next(agent.play(agent.policy(0), episodes=1, seed=0))


def test_an_unknown_rule_of_choice_is_named(watched):
    with pytest.raises(
        ValueError, match=r"bc does not select policies by 'nonsense'; .*best-return"
    ):
        watched[0].policy(0, "nonsense")


def test_what_chooses_does_not_change_on_the_way(watched, cache_home, tmp_path):
    """Trained with an environment, it goes on with one; without, it goes on without."""
    agent, _ = watched
    agent.save(tmp_path / "with.npz")
    loaded = BC.load(tmp_path / "with.npz", demonstrations=demonstrations())
    with pytest.raises(ValueError, match="loaded without an environment; pass it to load"):
        loaded.learn()
    assert bits(loaded.state) == bits(agent.state)
    loaded.save(tmp_path / "again.npz")
    with pytest.raises(ValueError, match="pass it to load"):
        BC.load(tmp_path / "again.npz", demonstrations=demonstrations()).learn()
    offline = small_baseline("bc", environment=None, action_space=gym.spaces.Discrete(2)).learn()
    offline.save(tmp_path / "without.npz")
    BC.load(tmp_path / "without.npz", demonstrations=demonstrations()).learn()
    with pytest.raises(ValueError, match="began to learn without an environment"):
        BC.load(tmp_path / "without.npz", "CartPole-v1", demonstrations()).learn()


def test_a_linear_expert_is_recovered_from_a_file_of_its_actions(cache_home):
    """a = K s in the Box's own units, without noise."""
    gain = np.array([[0.4, -0.8]])
    states = np.random.default_rng(0).normal(size=(4, 300, 2)).astype(np.float32)
    expert = Demonstrations.from_arrays(
        states, terminal=False, actions=[each[:-1] @ gain.T for each in states]
    )
    box = gym.spaces.Box(-4.0, 4.0, (1,))
    settings = BCSettings(passes=60, every=20, cloning=Cloning(plan=Passes(1, batch_size=32)))
    agent = BC(None, expert, settings, action_space=box).learn()
    seen = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    found, _ = agent.predict(seen, deterministic=True)
    np.testing.assert_allclose(found, seen @ gain.T, atol=0.25)
    assert np.abs(found - seen @ gain.T).mean() < 0.08


def test_what_cannot_be_asked_of_it():
    with pytest.raises(ValueError, match="bc takes no environment steps"):
        small_baseline("bc").learn(1000)
    with pytest.raises(ValueError, match="the action space is unknown"):
        BC(None, demonstrations())
    assert BCSettings(passes=7, every=2).iterations == 5
    with pytest.raises(ValueError, match="every pass is validated"):
        BCSettings(cloning=Cloning(plan=Passes(passes=2)))


@pytest.mark.parametrize("wrong", [0.5, 2, -1])
def test_actions_that_cannot_be_the_environments(wrong):
    states = np.zeros((1, 4, 4), np.float32)
    expert = Demonstrations.from_arrays(states, terminal=False, actions=[[0, wrong, 1]])
    with pytest.raises(ValueError, match="whole numbers from 0 to 1, one per step"):
        small_baseline("bc", expert)
    with pytest.raises(ValueError, match="trajectory 0: the recorded actions"):
        small_baseline("gail", expert)
    assert not small_baseline("gaifo", expert).demonstrations.has_actions
