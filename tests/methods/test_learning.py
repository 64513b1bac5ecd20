"""MobILE learns from states alone, judged by a permutation test on true returns."""

import numpy as np
import pytest

from ilfo import MobILE
from ilfo.agents.seeds import one_seed
from ilfo.environments.tasks import find_task
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.episodes import play

HORIZON = 200
EPISODES = 20


def chance_of_as_much(better: np.ndarray, worse: np.ndarray, permutations: int = 10_000) -> float:
    """Share of relabellings whose difference of means is at least the one found."""
    generator = np.random.default_rng(0)
    together, count = np.concatenate([better, worse]), len(better)
    found = better.mean() - worse.mean()
    drawn = generator.permuted(np.tile(together, (permutations, 1)), axis=1)
    differences = drawn[:, :count].mean(1) - drawn[:, count:].mean(1)
    return (1 + (differences >= found - 1e-9).sum()) / (1 + permutations)


def test_the_judge_itself():
    generator = np.random.default_rng(1)
    same = [chance_of_as_much(*generator.normal(size=(2, 20)), 1000) for _ in range(100)]
    assert 0.3 < np.mean(same) < 0.7
    assert np.mean(np.array(same) < 0.05) < 0.15
    assert chance_of_as_much(np.arange(20) + 100.0, np.arange(20.0)) < 0.001
    assert chance_of_as_much(np.arange(20.0), np.arange(20) + 100.0) == 1.0


def returns(agent: MobILE, policies, greedy: bool) -> np.ndarray:
    environments = agent.factory.make_many(10)
    return np.array(
        [
            episode.rewards.sum()
            for seed, policy in zip(agent.seeds, policies, strict=True)
            for episode in play(
                environments,
                HostPolicy.single(policy),
                agent.problem.actions,
                episodes=EPISODES,
                seed=seed,
                greedy=greedy,
            )
        ]
    )


@pytest.mark.slow
def test_cartpole_is_learned_from_states_alone(cache_home):
    """With the settings for an unknown environment, what ends an episode is learned as well."""
    task = find_task("cartpole")
    agent = MobILE(task.environment, task.load(), seeds=2, horizon=HORIZON)
    agent._prepare()
    untrained = [one_seed(agent.state.policy, k) for k in range(2)]
    before = returns(agent, untrained, greedy=True)
    agent.learn(1200)
    after = returns(agent, [agent.policy(k) for k in range(2)], greedy=True)
    assert chance_of_as_much(after, before) < 0.05
