"""Experts are trained on the true reward, the same for the same seed."""

import itertools
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.common.types import Rollout
from ilfo.experts.train import ExpertProgress, Plan, RunningScale, first_return, train
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from tests.helpers.agents import bits
from tests.helpers.counting import Counting

HORIZON, STREAMS, ITERATIONS = 16, 3, 12
CRITIC = GAECritic(discount=0.5, trace=0.5, width=8, optimiser=Adam(1e-2), plan=Passes(10, 16))
SMALL = Plan(
    TRPO(kl=0.05, cg_iterations=5, critic=CRITIC, fisher_samples=32),
    MLPPolicy(width=8, depth=1),
    streams=STREAMS,
    normalise=False,
)


class Picky(Counting):
    """Counting, where going by one step at a time pays and by two costs."""

    def step(self, action):
        observation, _, ends, stops, info = super().step(action)
        return observation, 1.0 - 2.0 * action, ends, stops, info


class Trained:
    """An expert after each of a few iterations, and the environments it was trained in."""

    def __init__(self, seed=0, plan=SMALL):
        self.environments: list[gym.Env] = []
        taken = train(self.make, horizon=HORIZON, seed=seed, plan=plan)
        assert self.environments == []  # nothing happens before it is asked for
        self.progress: list[ExpertProgress] = list(itertools.islice(taken, ITERATIONS))

    def make(self):
        self.environments.append(Picky())
        return self.environments[-1]

    @property
    def policies(self):
        return [bits(step.policy) for step in self.progress]


@pytest.fixture(scope="module")
def trained(cache_home) -> Trained:
    return Trained()


def test_iterations_and_samples_are_counted(trained):
    assert [step.iteration for step in trained.progress] == list(range(1, 13))
    assert [step.samples for step in trained.progress[:3]] == [48, 96, 144]
    assert trained.progress[-1].samples == 12 * 48
    assert len(trained.environments) == STREAMS


def test_samples_are_all_steps_that_are_taken(trained):
    steps = sum(len(environment.received) for environment in trained.environments)
    assert steps == trained.progress[-1].samples


def test_the_return_is_that_of_each_streams_first_episode():
    """Two streams: one whose first episode ends after two steps, one that is only cut."""
    never = np.zeros((2, 4), bool)
    terminal, cut = never.copy(), never.copy()
    terminal[0, 1] = terminal[0, 3] = cut[1, 3] = True
    state = np.zeros((2, 4, 1), np.float32)
    rollout = Rollout(state, None, state, terminal, never, cut, ~never, np.zeros((2, 4), np.int32))
    rewards = np.array([[1.0, 2.0, 100.0, 100.0], [1.0, 1.0, 1.0, 1.0]])
    assert first_return(rollout, rewards) == (3 + 4) / 2


def test_the_scale_is_that_of_all_states_seen():
    rows = np.random.default_rng(0).normal([5, -3], [2, 0.1], (2, 3, 50, 2)).astype(np.float32)
    seen = RunningScale(2)
    for part in rows:
        seen.add(part)
    flat = rows.reshape(-1, 2)
    np.testing.assert_allclose(seen.normaliser.shift, flat.mean(0), rtol=1e-5)
    np.testing.assert_allclose(seen.normaliser.scale, flat.std(0), rtol=1e-4)


def test_observations_are_scaled_where_the_plan_says_so(trained):
    scaled = Trained(plan=replace(SMALL, normalise=True)).progress
    shift = lambda progress: np.asarray(progress.policy.normaliser.shift)
    assert not shift(scaled[0]).any()  # nothing was seen yet
    assert (shift(scaled[1]) > 0).all()
    assert not np.array_equal(shift(scaled[1]), shift(scaled[2]))
    assert not shift(trained.progress[-1]).any()


def test_the_reward_is_made_large(trained):
    """From the middle of nine rewards of ±1 in an episode to nearly all of them."""
    first, last = trained.progress[0].stochastic_return, trained.progress[-1].stochastic_return
    assert last > first + 2
    host = HostPolicy.single(trained.progress[-1].policy)
    states = np.stack([np.arange(9.0), np.full(9, 0.5)], 1).astype(np.float32)
    assert host.mode(states[None])[0].tolist() == [0] * 9


def test_same_seed_same_bits(trained):
    assert Trained().policies == trained.policies


def test_another_seed_another_expert(trained):
    other = Trained(seed=1)
    assert all(a != b for a, b in zip(other.policies, trained.policies, strict=True))
    seeds = [set(run.environments[0].seeds) - {None} for run in (trained, other)]
    assert not seeds[0] & seeds[1]


def test_each_seed_begins_with_a_policy_of_its_own():
    start = lambda seed: next(train(Picky, horizon=HORIZON, seed=seed, plan=SMALL))
    firsts = [bits(start(seed).policy) for seed in (0, 1, 0)]
    assert firsts[0] == firsts[2] != firsts[1]
