"""Experts are trained on the true reward, the same for the same seed."""

import itertools

import gymnasium as gym
import numpy as np
import pytest

from ilfo.environments.spaces import DiscreteActions
from ilfo.evaluate import mean_return, play
from ilfo.experts.train import Progress, train
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.training import Adam, Passes
from tests.counting import Counting
from tests.small import bits

HORIZON, STREAMS, EPISODES, ITERATIONS = 16, 3, 4, 12
CRITIC = GAECritic(discount=0.5, trace=0.5, width=8, optimiser=Adam(1e-2), plan=Passes(10, 16))
SMALL = {
    "horizon": HORIZON,
    "streams": STREAMS,
    "planner": TRPO(kl=0.05, cg_iterations=5, critic=CRITIC, fisher_samples=32),
    "policy": MLPPolicy(width=8, depth=1),
}


class Picky(Counting):
    """Counting, where going by one step at a time pays and by two costs."""

    def step(self, action):
        observation, _, ends, stops, info = super().step(action)
        return observation, 1.0 - 2.0 * action, ends, stops, info


class Trained:
    """An expert after each of a few iterations, and the environments it was trained in."""

    def __init__(self, seed=0, episodes=EPISODES):
        self.environments: list[gym.Env] = []
        taken = train(self.make, seed=seed, episodes=episodes, **SMALL)
        assert self.environments == []  # nothing happens before it is asked for
        self.progress: list[Progress] = list(itertools.islice(taken, ITERATIONS))

    def make(self):
        self.environments.append(Picky())
        return self.environments[-1]

    @property
    def policies(self):
        return [bits(each.policy) for each in self.progress]


@pytest.fixture(scope="module")
def trained(cache_home) -> Trained:
    return Trained()


def test_iterations_and_samples_are_counted(trained):
    assert [each.iteration for each in trained.progress] == list(range(1, 13))
    assert [each.samples for each in trained.progress[:3]] == [48, 96, 144]
    assert trained.progress[-1].samples == 12 * 48
    assert len(trained.environments) == STREAMS


def episodes_of(progress: Progress):
    host = HostPolicy.single(progress.policy)
    return list(play([Picky()], host, DiscreteActions(2), episodes=EPISODES, seed=0, greedy=False))


def test_samples_are_all_that_is_learned_from(trained):
    """The other steps that were taken are those of the episodes that judge each policy."""
    judging = [episode for each in trained.progress for episode in episodes_of(each)]
    steps = sum(len(environment.received) for environment in trained.environments)
    assert steps == trained.progress[-1].samples + sum(len(each.rewards) for each in judging)


def test_the_return_is_that_of_the_policy_it_comes_with(trained):
    for each in trained.progress:
        assert each.stochastic_return == pytest.approx(mean_return(episodes_of(each)))


def test_the_reward_is_made_large(trained):
    """From the middle of nine rewards of ±1 in an episode to nearly all of them."""
    first, last = trained.progress[0].stochastic_return, trained.progress[-1].stochastic_return
    assert last > first + 2
    host = HostPolicy.single(trained.progress[-1].policy)
    states = np.stack([np.arange(9.0), np.full(9, 0.5)], 1).astype(np.float32)
    assert host.mode(states[None])[0].tolist() == [0] * 9


def test_same_seed_same_bits_however_the_policies_are_judged(trained):
    again = Trained(episodes=1)
    assert again.policies == trained.policies
    assert [x.stochastic_return for x in again.progress] != [
        x.stochastic_return for x in trained.progress
    ]


def test_another_seed_another_expert(trained):
    other = Trained(seed=1)
    assert all(a != b for a, b in zip(other.policies, trained.policies, strict=True))
    seeds = [set(each.environments[0].seeds) - {None} for each in (trained, other)]
    assert not seeds[0] & seeds[1]


def test_each_seed_begins_with_a_policy_of_its_own():
    class Idle(TRPO):
        def update(self, state, batch, *, key):
            return state, {}

    given = SMALL | {"planner": Idle(critic=CRITIC), "episodes": 1}
    firsts = [bits(next(train(Picky, seed=seed, **given)).policy) for seed in (0, 1, 0)]
    assert firsts[0] == firsts[2] != firsts[1]
