"""Planners on decision processes whose values are known: rewards in, values and actions out."""

from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.common.fitting import Adam, Passes
from ilfo.common.spaces import DiscreteActions
from ilfo.common.types import Normaliser
from ilfo.planners.base import AbstractPlanner, PlannerState
from ilfo.planners.critic import Batch, GAECritic
from ilfo.planners.ppo import PPO
from ilfo.planners.trpo import TRPO
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.collect import collect
from tests.helpers import probes

DISCOUNT = 0.8
CRITIC = GAECritic(
    discount=DISCOUNT, trace=0.5, width=16, optimiser=Adam(1e-2), plan=Passes(10, 32)
)
PLANNERS: dict[str, AbstractPlanner] = {
    "trpo": TRPO(kl=0.05, critic=CRITIC),
    "ppo": PPO(critic=CRITIC, optimiser=Adam(1e-2), plan=Passes(10, 32)),
}
STREAMS, STEPS = 8, 17  # an odd number, so that two-step episodes are cut


class Learned(NamedTuple):
    state: PlannerState

    def value(self, observation: float) -> float:
        """Of rewards; the critic's are of costs."""
        return -float(self.state.critic.critic(jnp.array([observation])))

    def action(self, observation: float) -> int:
        return int(self.state.policy.distribution(jnp.array([observation])).mode())

    def probability(self, observation: float, action: int) -> float:
        chosen = self.state.policy.distribution(jnp.array([observation]))
        return float(jnp.exp(chosen.log_prob(jnp.array(action))))


@cache
def compiled_update(name: str) -> Any:
    """One for all probes: they share their shapes."""
    planner, free = PLANNERS[name], jnp.zeros(())
    return eqx.filter_jit(
        lambda state, rollout, rewards, key: planner.update(
            state, Batch(rollout, -rewards, free, free), key=key
        )[0]
    )


def learn(name: str, probe: type[probes.Probe], iterations: int) -> Learned:
    environments = [probe() for _ in range(STREAMS)]
    actions, normaliser = DiscreteActions(2), Normaliser.identity(1)
    policy_key, planner_key, key = jax.random.split(jax.random.key(0), 3)
    policy = MLPPolicy(width=8, depth=1).init(1, actions, normaliser, key=policy_key)
    state = PLANNERS[name].init(policy, 1, normaliser, key=planner_key)
    for iteration in range(iterations):
        rollout, rewards = collect(
            environments, HostPolicy.single(state.policy), actions,
            seeds=[0], iteration=iteration, steps=STEPS,
        )  # fmt: skip
        rollout, rewards = jax.tree.map(lambda x: jnp.asarray(x[0]), (rollout, rewards))
        state = compiled_update(name)(state, rollout, rewards, jax.random.fold_in(key, iteration))
    return Learned(state)


@pytest.fixture(params=list(PLANNERS))
def name(request) -> str:
    return request.param


def test_constant_reward(name: str) -> None:
    assert learn(name, probes.ConstantReward, 8).value(0) == pytest.approx(1, abs=0.1)


def test_reward_by_observation(name: str) -> None:
    learned = learn(name, probes.RewardByObservation, 8)
    for observation in (-1, 1):
        assert learned.value(observation) == pytest.approx(observation, abs=0.1)


def test_delayed_reward(name: str) -> None:
    learned = learn(name, probes.DelayedReward, 15)
    assert learned.value(0) == pytest.approx(DISCOUNT, abs=0.1)
    assert learned.value(1) == pytest.approx(1, abs=0.1)


def test_reward_by_action(name: str) -> None:
    learned = learn(name, probes.RewardByAction, 20)
    assert learned.action(0) == 1
    chance = learned.probability(0, 1)
    assert chance > 0.9
    assert learned.value(0) == pytest.approx(2 * chance - 1, abs=0.1)


def test_reward_by_observation_and_action(name: str) -> None:
    learned = learn(name, probes.RewardByObservationAndAction, 25)
    assert (learned.action(-1), learned.action(1)) == (0, 1)
    for observation, right in ((-1, 0), (1, 1)):
        chance = learned.probability(observation, right)
        assert chance > 0.9
        assert learned.value(observation) == pytest.approx(2 * chance - 1, abs=0.1)


def test_a_probe_is_what_it_says() -> None:
    probe = probes.DelayedReward()
    probe.reset(seed=0)
    steps = [probe.step(0)[:3] for _ in range(2)]
    np.testing.assert_array_equal([step[0] for step in steps], [[1.0], [1.0]])
    assert [step[1:] for step in steps] == [(0.0, False), (1.0, True)]
