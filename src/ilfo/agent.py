"""What every learner offers: learn, predict, save, load; several seeds side by side.

The loop is the same for all methods: collect on the host, then one compiled `improve`.
"""

import abc
import operator
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ilfo import checkpoint, config
from ilfo.components import COMPONENTS, FUNCTIONS
from ilfo.demonstrations import Demonstrations
from ilfo.divergence import check_log, check_observations
from ilfo.environments.factory import Environment, Factory, factory
from ilfo.evaluate import Episode, play
from ilfo.expert import SAMPLE, STARTS, Expert, mean_features, sample_steps
from ilfo.logging import Callback
from ilfo.needs import Needs
from ilfo.parallel import OverSeeds, one_seed
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.problem import Problem, state_problem
from ilfo.randomness import Purpose
from ilfo.rollout import collect
from ilfo.run import versions

STAGE = 10
"""Environments that episodes to look at are played in, side by side."""


class Agent(abc.ABC):
    """`Agent(environment, demonstrations, settings, seeds=5).learn(30_000)`.

    **Arguments**

    - `environment`: a Gymnasium id, an environment made by `gymnasium.make`, or a function that
      makes one; with Box observations and Box or Discrete actions.
    - `demonstrations`: states only; see `ilfo.Demonstrations`.
    - `settings`: hyper-parameters; by default those for an unknown environment.
    - `seeds`: how many seeds to train side by side, or their numbers.
    - `horizon`: longest episode, where the environment does not say or should be overruled.
    - `feature_map`: a JAX function h, when the demonstrations hold h(s) instead of states.
    """

    method: ClassVar[str]

    needs: ClassVar[Needs] = Needs()
    """What the method cannot do without; actions that it does not ask for it never sees."""

    default_settings: ClassVar[type]
    """The method's hyper-parameters; without arguments, those for an unknown environment."""

    @staticmethod
    @abc.abstractmethod
    def init(settings: Any, problem: Problem, demonstrated: Array, *, key: Array) -> Any:
        """A fresh train state, with fields `policy`, `chosen`, `discriminator`, `iteration`."""

    @staticmethod
    @abc.abstractmethod
    def improve(settings: Any, problem: Problem, state: Any, rollout: Any, expert: Expert) -> Any:
        """One iteration: the next train state and a log. Entries `finite_<phase>` are flags."""

    def __init__(
        self,
        environment: Environment,
        demonstrations: Demonstrations,
        settings: Any = None,
        *,
        seeds: int | Sequence[int] = 1,
        horizon: int | None = None,
        feature_map: Callable[[Array], Array] | None = None,
    ):
        if not isinstance(demonstrations, Demonstrations):
            raise ValueError(
                f"demonstrations are {demonstrations!r}, but must be ilfo.Demonstrations; make "
                "them by Demonstrations.load(FILE) or Demonstrations.from_arrays(STATES, ...)"
            )
        self.needs.check_environment(self.method, environment)
        admitted = self.needs.admit(self.method, demonstrations)
        self.settings = self.default_settings() if settings is None else settings
        self.seeds = _seed_numbers(seeds)
        self.seconds = {"compile": 0.0, "collect": 0.0, "improve": 0.0}
        self._factory: Factory | None = factory(environment, horizon)
        self._demonstrations: Demonstrations | None = admitted
        self.problem = state_problem(self.factory, demonstrations.dim, feature_map)
        self.needs.check_problem(self.method, self.problem.actions, feature_map)
        self.state: Any = None
        self._finish()

    def _finish(self) -> None:
        self._environments: list[gym.Env] = []
        self._stage: list[gym.Env] = []
        self._expert: Expert | None = None
        settings, problem, improve = self.settings, self.problem, self.improve
        self._improve = OverSeeds(
            lambda *args: improve(settings, problem, *args),
            devices=min(len(self.seeds), len(jax.devices())),
        )
        self._generator = np.random.default_rng([self.seeds[0], Purpose.PREDICT])
        self._host: tuple[Any, HostPolicy] | None = None

    @property
    def factory(self) -> Factory:
        """Makes the environment that the agent learns in."""
        if self._factory is None:
            raise ValueError("this agent was loaded without an environment; pass it to load")
        return self._factory

    @property
    def demonstrations(self) -> Demonstrations:
        if self._demonstrations is None:
            raise ValueError(
                "this agent was loaded without demonstrations, so it cannot go on learning; pass "
                "them and the environment to load"
            )
        return self._demonstrations

    # -- training --------------------------------------------------------------------------------

    @property
    def samples_per_iteration(self) -> int:
        return self.settings.streams * self.problem.horizon

    @property
    def iteration(self) -> int:
        return 0 if self.state is None else int(self.state.iteration[0])

    @property
    def online_samples(self) -> int:
        """Environment steps that each seed has taken to learn."""
        return self.iteration * self.samples_per_iteration

    def learn(self, total_timesteps: int, callback: Callback | Sequence[Callback] = ()) -> "Agent":
        """Go on until each seed has taken `total_timesteps` steps since its beginning, in whole
        iterations. Calling it again with more continues."""
        self.check_budget(total_timesteps)
        callbacks = [callback] if isinstance(callback, Callback) else list(callback)
        start = time.perf_counter()
        self._prepare()
        self.seconds["compile"] += time.perf_counter() - start
        try:
            for each in callbacks:
                each.on_start(self)
            while self.online_samples + self.samples_per_iteration <= total_timesteps:
                log = self._iterate() | {
                    "total_timesteps": total_timesteps,
                    "seconds": time.perf_counter() - start,
                }
                answers = [each.on_iteration(self, log) for each in callbacks]
                if any(answer is False for answer in answers):
                    break
        finally:
            for each in callbacks:
                each.on_end(self)
        return self

    def check_budget(self, total_timesteps: int) -> None:
        if total_timesteps < self.samples_per_iteration:
            raise ValueError(
                f"total_timesteps is {total_timesteps}, but one iteration takes "
                f"{self.samples_per_iteration} ({self.settings.streams} streams of "
                f"{self.problem.horizon} steps)"
            )

    def _iterate(self) -> dict[str, Any]:
        began = time.perf_counter()
        rollout, _ = collect(
            self._environments,
            HostPolicy(self.state.policy),
            self.problem.actions,
            seeds=self.seeds,
            iteration=self.iteration,
            steps=self.problem.horizon,
        )
        check_observations(rollout, self.factory.name, self.seeds, self.iteration)
        collected = time.perf_counter()
        args = (self.state, rollout, self._expert)
        self._improve.compile(*args)
        compiled = time.perf_counter()
        state, log = self._improve(*args)
        log = {name: np.asarray(value) for name, value in log.items()}
        check_log(log, self.seeds, self.iteration)
        self.state = state
        self.seconds["collect"] += collected - began
        self.seconds["compile"] += compiled - collected
        self.seconds["improve"] += time.perf_counter() - compiled
        log = {name: value for name, value in log.items() if not name.startswith("finite_")}
        return log | {"iteration": self.iteration, "online_samples": self.online_samples}

    def _prepare(self) -> None:
        """Read the demonstrations and make state and environments, where not done yet."""
        if not self._environments:
            count = len(self.seeds) * self.settings.streams
            self._environments = self.factory.several(count)
        if self._expert is not None:
            return
        sample = jnp.asarray(sample_steps(self.demonstrations, SAMPLE, np.random.default_rng(0)))
        if self.state is None:
            self.state = self._initial(sample)
        features = mean_features(
            self.demonstrations,
            self.settings.discriminator,
            self.state.discriminator,
            self.problem.horizon,
        )
        starts, reached = None, None
        if self.problem.feature_map is None:
            for_each_seed = lambda x: jnp.broadcast_to(x, (len(self.seeds), *x.shape))
            starts, reached = for_each_seed(sample[:STARTS, 0]), for_each_seed(sample[:, 1])
        self._expert = Expert(features, starts, reached)

    def _initial(self, sample: Array) -> Any:
        def make(sample, key):
            return self.init(self.settings, self.problem, sample, key=key)

        keys = jax.vmap(jax.random.key)(jnp.asarray(self.seeds, jnp.uint32))
        return eqx.filter_jit(eqx.filter_vmap(make, in_axes=(None, 0)))(sample, keys)

    # -- acting ----------------------------------------------------------------------------------

    @property
    def best_seed(self) -> int:
        """Index of the seed whose chosen policy came nearest to the demonstrations."""
        return int(np.argmin(np.asarray(self.state.chosen.mmd)))

    def policy(self, index: int | None = None) -> AbstractPolicy:
        """The policy chosen for a seed (by index), without the true reward; by default the best
        seed's."""
        if self.state is None:
            raise ValueError("this agent has not learned anything yet; call learn first")
        return one_seed(self.state.chosen.policy, self.best_seed if index is None else index)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """An action for one observation, or one for each of a batch; `state` passes through.

        The signature is Stable-Baselines3's.
        """
        if self._host is None or self._host[0] is not self.state:
            self._host = (self.state, HostPolicy.single(self.policy()))
        host, actions = self._host[1], self.problem.actions
        rows, shape = np.asarray(observation, np.float32), self.problem.observation_shape
        single = rows.shape == shape
        if not single and rows.shape[1:] != shape:
            raise ValueError(
                f"the observation has shape {rows.shape}, but must have {shape}, or one more "
                "axis in front for a batch"
            )
        rows = rows.reshape(1, -1, self.problem.state_dim)
        if deterministic:
            drawn = host.mode(rows)[0]
        else:
            drawn = host.sample(rows, host.draw_noise(self._generator, rows.shape[:2]))[0]
        executed = np.stack(actions.to_environment(drawn))
        return (executed[0] if single else executed), state

    def play(
        self, policy: AbstractPolicy, *, episodes: int, seed: int, greedy: bool = True
    ) -> Iterator[Episode]:
        """Whole episodes of a policy of this agent in its environment, to look at: neither the
        steps nor the rewards have a part in learning."""
        if not self._stage:
            self._stage = self.factory.several(STAGE)
        host = HostPolicy.single(policy)
        return play(
            self._stage, host, self.problem.actions, episodes=episodes, seed=seed, greedy=greedy
        )

    # -- keeping ---------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Everything but the arrays: what a checkpoint or a run directory says of this agent."""
        return {
            "method": self.method,
            "settings": config.to_dict(self.settings, FUNCTIONS),
            "problem": config.to_dict(self.problem, FUNCTIONS),
            "seeds": list(self.seeds),
            "environment": self._factory.name if self._factory else None,
            "versions": versions(),
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the whole training state to one file, without pickle."""
        if not overwrite and os.path.exists(path):
            raise FileExistsError(f"{path} exists already; choose another file or overwrite=True")
        if self.state is None:
            raise ValueError("this agent has not learned anything yet; there is nothing to save")
        checkpoint.save(path, self.state, self.describe())

    @classmethod
    def load(
        cls,
        path,
        environment: Environment | None = None,
        demonstrations: Demonstrations | None = None,
        functions: Mapping[str, Callable] | None = None,
        components: Sequence[type] = (),
    ) -> "Agent":
        """An agent as it was saved. It can predict at once; with the environment it can also play,
        and with the demonstrations go on learning.

        Functions of your own (a feature map, a known termination) are not in the file: pass them
        by the field's path, e.g. `functions={"feature_map": h, "termination.function": rule}`;
        and the classes of components of your own: `components=[MyPlanner]`.
        """
        meta = checkpoint.read_meta(path)
        if meta.get("method") != cls.method:
            raise checkpoint.CheckpointError(
                f"{path} holds an agent of method {meta.get('method')!r}, not {cls.method!r}"
            )
        classes = COMPONENTS | {kind.__name__: kind for kind in (*components, cls.default_settings)}
        agent = cls._from_description(meta, classes, FUNCTIONS | dict(functions or {}))
        if demonstrations is not None:
            agent._demonstrations = cls.needs.admit(cls.method, demonstrations)
        if environment is not None:
            made, was = factory(environment, agent.problem.horizon), agent.problem
            dim = demonstrations.dim if demonstrations else was.demonstrated_dim
            problem = state_problem(made, dim, was.feature_map)
            if problem != was:
                raise ValueError(
                    f"{path} was trained on another problem: {was}, but {made.name} and these "
                    f"demonstrations make {problem}"
                )
            agent._factory = made
        sample = jax.ShapeDtypeStruct((1, 2, agent.problem.demonstrated_dim), jnp.float32)
        like = eqx.filter_eval_shape(agent._initial, sample)
        agent.state, _ = checkpoint.load(path, like)
        return agent

    @classmethod
    def _from_description(cls, meta: Mapping[str, Any], classes, functions) -> "Agent":
        agent = cls.__new__(cls)
        agent.settings = config.from_dict(meta["settings"], classes, functions)
        agent.problem = config.from_dict(meta["problem"], classes, functions)
        agent.seeds = tuple(meta["seeds"])
        agent.seconds = {"compile": 0.0, "collect": 0.0, "improve": 0.0}
        agent._factory, agent._demonstrations, agent.state = None, None, None
        agent._finish()
        return agent


def _seed_numbers(seeds: int | Sequence[int]) -> tuple[int, ...]:
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(map(operator.index, seeds))
    if (
        not numbers
        or len(set(numbers)) < len(numbers)
        or not 0 <= min(numbers) <= max(numbers) < 2**32
    ):
        raise ValueError(
            f"seeds is {seeds}, but must be a positive count or different numbers below 2**32"
        )
    return numbers
