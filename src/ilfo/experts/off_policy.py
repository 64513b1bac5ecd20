"""Training experts by SAC, on the true reward of any environment with Box actions.

Training proceeds in rounds. A round begins with a seeded reset and random numbers of its own, so
that a state saved between two rounds is all that is needed to go on.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ilfo.common.buffer import Ring
from ilfo.common.seeding import Purpose
from ilfo.common.spaces import BoxActions, action_space, state_dim
from ilfo.common.types import Log, Normaliser
from ilfo.common.validation import require_at_least
from ilfo.environments.factory import Factory
from ilfo.planners.replay import Experience, empty_replay, push
from ilfo.planners.sac import SAC, SACState
from ilfo.policies.host import HostPolicy
from ilfo.policies.squashed import SquashedMLP
from ilfo.rollouts.episodes import mean_return, play
from ilfo.rollouts.stream import Stream

EPISODES = 10
"""Episodes of an evaluation, greedy and again stochastic."""


class OffPolicyPlan(eqx.Module):
    """How an expert is trained by SAC."""

    sac: SAC = SAC()
    """The learner."""
    capacity: int = 1_000_000
    """Steps that the replay holds."""
    random_steps: int = 10_000
    """First steps, taken with uniformly random actions and without updates."""
    block: int = 50
    """Environment steps between two calls of compiled code; so long the policy acts unchanged."""
    updates: int = 50
    """Updates after each block."""
    every: int = 20_000
    """Environment steps of a round; after each, the policy is evaluated and all is saved."""

    def __post_init__(self):
        require_at_least(self, 1, "capacity", "block", "updates", "every")
        require_at_least(self, 0, "random_steps")
        for name in ("random_steps", "every"):
            if getattr(self, name) % self.block:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, but must be a multiple of block, which is "
                    f"{self.block}"
                )


class TrainState(eqx.Module):
    """All that training needs to go on."""

    learner: SACState
    replay: Ring
    rounds: Int[Array, ""]
    """Rounds so far."""


class Spaces:
    """Sizes of an environment that SAC can learn in; ValueError for another one."""

    def __init__(self, env_factory: Factory):
        actions = action_space(env_factory.action_space)
        if not isinstance(actions, BoxActions):
            raise ValueError(
                f"{env_factory.name} has the actions {env_factory.action_space}, but SAC needs a "
                "Box of them"
            )
        self.actions, self.state_dim = actions, state_dim(env_factory.observation_space)


def first_state(plan: OffPolicyPlan, spaces: Spaces, seed: int) -> TrainState:
    """The state before training."""
    normaliser = Normaliser.identity(spaces.state_dim)
    key = jax.random.fold_in(jax.random.key(seed), 0)
    learner = plan.sac.init(spaces.state_dim, spaces.actions, normaliser, key=key)
    replay = empty_replay(spaces.state_dim, spaces.actions, plan.capacity)
    return TrainState(learner, replay, jnp.zeros((), jnp.int32))


class OffPolicyTraining:
    """Trains one expert, round by round."""

    def __init__(self, env_factory: Factory, plan: OffPolicyPlan, seed: int):
        self.plan, self.seed = plan, seed
        self._spaces, self._make = Spaces(env_factory), env_factory.make_many
        self._environments: list[gym.Env] = []
        self.state = first_state(plan, self._spaces, seed)
        # donated, so that the replay is changed in place and not copied
        self._remember = jax.jit(push, donate_argnums=0)
        learn = lambda given, replay: _learn(plan, given, replay)
        self._learn = eqx.filter_jit(learn, donate="all-except-first")

    @property
    def rounds(self) -> int:
        return int(self.state.rounds)

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self.rounds * self.plan.every

    @property
    def policy(self) -> SquashedMLP:
        return self.state.learner.policy

    def advance(self, watch: Callable[[int], None] = lambda steps: None) -> dict[str, float]:
        """One round; the means of what the updates logged, empty if there were none. After every
        block, `watch` is told its steps."""
        plan, number = self.plan, self.rounds
        environment, actions = self._copies(1)[0], self._spaces.actions
        stream = Stream(environment, actions, (self.seed, Purpose.COLLECT, number))
        generator = np.random.default_rng([self.seed, Purpose.ACT, number])
        key = jax.random.fold_in(jax.random.key(self.seed), 1 + number)
        logs: list[Log] = []
        learner, replay = self.state.learner, self.state.replay
        for block in range(plan.every // plan.block):
            random = self.steps + block * plan.block < plan.random_steps
            act = self._uniform(generator) if random else self._sampling(learner.policy, generator)
            new = stream.take(act, plan.block)
            if random:
                replay = self._remember(replay, new)
            else:
                given = (learner, new, jax.random.fold_in(key, block))
                learner, replay, log = self._learn(given, replay)
                logs.append(log)
            watch(plan.block)
        self.state = TrainState(learner, replay, self.state.rounds + 1)
        return self._means(logs)

    def evaluate(self, policy: SquashedMLP, greedy: bool, purpose: int = Purpose.EVALUATE) -> float:
        """Mean return of ten episodes."""
        episodes = play(
            self._copies(EPISODES),
            HostPolicy.single(policy),
            self._spaces.actions,
            episodes=EPISODES,
            seed=self.seed,
            purpose=purpose,
            greedy=greedy,
        )
        return mean_return(episodes)

    def _copies(self, count: int) -> list[gym.Env]:
        self._environments += self._make(max(count - len(self._environments), 0))
        return self._environments[:count]

    def _uniform(self, generator: np.random.Generator) -> Callable[..., np.ndarray]:
        drawn = generator.uniform(-1, 1, (self.plan.block, self._spaces.actions.encoded_dim))
        return lambda _, step: drawn[step].astype(np.float32)

    def _sampling(
        self, policy: SquashedMLP, generator: np.random.Generator
    ) -> Callable[..., np.ndarray]:
        host = HostPolicy.single(policy)
        noise = host.draw_noise(generator, (self.plan.block, 1, 1))
        return lambda state, step: host.sample(state[None, None], noise[step])[0, 0]

    def _means(self, logs: list[Log]) -> dict[str, float]:
        names = logs[0] if logs else ()
        means = {name: float(np.mean([float(log[name]) for log in logs])) for name in names}
        if not np.isfinite(list(means.values())).all():
            raise FloatingPointError(
                f"training diverged in round {self.rounds}: {means}; try another seed or a smaller "
                "sac.optimiser.learning_rate"
            )
        return means


def _learn(plan: OffPolicyPlan, given: tuple[SACState, Experience, Array], replay: Ring) -> Any:
    """Add new steps to the replay and update from it."""
    learner, new, key = given
    replay = push(replay, new)
    learner, log = plan.sac.updates(learner, replay, plan.updates, key=key)
    return learner, replay, log
