"""What every learner offers: learn, predict, save, load; several seeds side by side.

The loop is the same for all methods: act on the host, then one compiled `improve`.
"""

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ilfo.agents.acting import Actor
from ilfo.agents.callbacks import Callback
from ilfo.agents.divergence import check_log, check_observations
from ilfo.agents.method import LearningWarning
from ilfo.agents.problem import offline_problem, state_problem
from ilfo.agents.registry import COMPONENTS, FUNCTIONS
from ilfo.agents.seeds import OverSeeds
from ilfo.common.seeding import seed_numbers
from ilfo.common.types import DemonstratedSteps
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.sampling import SAMPLE
from ilfo.data.sampling import sample as sample_steps
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.expert_mean import mean_features
from ilfo.environments.factory import Environment, Factory, factory
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.collect import collect
from ilfo.storage import checkpoint, config
from ilfo.storage.provenance import versions


class Agent(Actor):
    """`Agent(environment, demonstrations, settings, seeds=5).learn(30_000)`.

    **Arguments**

    - `environment`: a Gymnasium id, an environment made by `gymnasium.make`, or a function that
      makes one; with Box observations and Box or Discrete actions.
    - `demonstrations`: what the method needs of them, it says in `needs`; see
      `ilfo.Demonstrations`.
    - `settings`: hyper-parameters; by default those for an unknown environment.
    - `seeds`: how many seeds to train side by side, or their numbers.
    - `horizon`: longest episode, where the environment does not say or should be overruled.
    - `feature_map`: a JAX function h, when the demonstrations hold h(s) instead of states.
    - `action_space`: what the actions are, for a method that can do without an environment.
    """

    def act(self) -> Any:
        """What the environment is asked before `improve`: by default a rollout of each seed's
        policy. Arrays have the axis of seeds."""
        rollout, _ = collect(
            self._environments,
            HostPolicy(self.state.policy),
            self.problem.actions,
            seeds=self.seeds,
            iteration=self.iteration,
            steps=self.problem.horizon,
        )
        check_observations(rollout, self.factory.name, self.seeds, self.iteration)
        return rollout

    def __init__(
        self,
        environment: Environment | None,
        demonstrations: Demonstrations,
        settings: Any = None,
        *,
        seeds: int | Sequence[int] = 1,
        horizon: int | None = None,
        feature_map: Callable[[Array], Array] | None = None,
        action_space: gym.Space | None = None,
    ):
        if not isinstance(demonstrations, Demonstrations):
            raise ValueError(
                f"demonstrations are {demonstrations!r}, but must be ilfo.Demonstrations; make "
                "them by Demonstrations.load(FILE) or Demonstrations.from_arrays(STATES, ...)"
            )
        self.needs.check_environment(self.method, environment)
        admitted = self.needs.restrict(self.method, demonstrations)
        self._demonstrations: Demonstrations | None = admitted
        self.settings = self.default_settings() if settings is None else settings
        self.seeds = seed_numbers(seeds)
        self.seconds = {"compile": 0.0, "collect": 0.0, "improve": 0.0}
        self._factory: Factory | None = None
        if environment is None:
            self.problem = offline_problem(demonstrations, action_space, horizon)
        else:
            self._factory = factory(environment, horizon)
            self.problem = state_problem(self._factory, demonstrations.dim, feature_map)
        self.needs.check_problem(self.method, self.problem.actions, feature_map)
        self.needs.check_actions(admitted, self.problem.actions)
        self._home = self._factory.name if self._factory else None
        self.state: Any = None
        self._finish()
        self.check()

    def check(self) -> None:
        """What the settings ask of environment and demonstrations, before any work."""

    def _finish(self) -> None:
        self._environments: list[gym.Env] = []
        self._expert: Any = None
        settings, problem, improve = self.settings, self.problem, self.improve
        self._improve = OverSeeds(
            lambda *args: improve(settings, problem, *args),
            devices=min(len(self.seeds), len(jax.devices())),
        )
        self._enter()

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
        """Environment steps that each seed takes in an iteration to learn."""
        return self.settings.streams * self.problem.horizon if self.needs.environment else 0

    @property
    def iteration(self) -> int:
        return 0 if self.state is None else int(self.state.iteration[0])

    @property
    def online_samples(self) -> int:
        """Environment steps that each seed has taken to learn."""
        return self.iteration * self.samples_per_iteration

    def learn(
        self, total_timesteps: int | None = None, callback: Callback | Sequence[Callback] = ()
    ) -> "Agent":
        """Go on until each seed has taken `total_timesteps` steps since its beginning, in whole
        iterations. Calling it again with more continues. A method that takes no steps goes on for
        as many iterations as its settings say."""
        self.check_budget(total_timesteps)
        self._check_home()
        callbacks = [callback] if isinstance(callback, Callback) else list(callback)
        start = time.perf_counter()
        self._prepare()
        self.seconds["compile"] += time.perf_counter() - start
        try:
            for each in callbacks:
                each.on_start(self)
            while self._goes_on(total_timesteps):
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
        for remark in self.remarks():
            warnings.warn(remark, LearningWarning, stacklevel=2)
        return self

    def check_budget(self, total_timesteps: int | None) -> None:
        if not self.needs.environment:
            if total_timesteps is not None:
                raise ValueError(
                    f"total_timesteps is {total_timesteps}, but {self.method} takes no environment "
                    "steps to learn; leave it out, the settings say how long training goes on"
                )
        elif total_timesteps is None:
            raise ValueError("say how many environment steps may be taken: total_timesteps")
        elif total_timesteps < self.samples_per_iteration:
            raise ValueError(
                f"total_timesteps is {total_timesteps}, but one iteration takes "
                f"{self.samples_per_iteration} ({self.settings.streams} streams of "
                f"{self.problem.horizon} steps)"
            )

    def _goes_on(self, total_timesteps: int | None) -> bool:
        if total_timesteps is None:
            return self.iteration < self.settings.iterations
        return self.online_samples + self.samples_per_iteration <= total_timesteps

    def _iterate(self) -> dict[str, Any]:
        began = time.perf_counter()
        found = self.act()
        collected = time.perf_counter()
        args = (self.state, found, self._expert)
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
        if self.samples_per_iteration and not self._environments:
            count = len(self.seeds) * self.settings.streams
            self._environments = self.factory.make_many(count)
        if self._expert is not None:
            return
        generator = np.random.default_rng(0)
        sample = sample_steps(self.demonstrations, SAMPLE, generator)
        if self.state is None:
            steps = DemonstratedSteps(jnp.asarray(sample.steps), jnp.asarray(sample.trajectory))
            self.state = self._initial(steps)
        self._expert = self.digest(sample)

    def mean_features(self, spec: AbstractDiscriminator, states: Any) -> Array:
        """E ψ under the demonstrations, for each seed's discriminator."""
        return mean_features(self.demonstrations, spec, states, self.problem.horizon)

    def for_each_seed(self, array: Any) -> Array:
        """The same for all seeds."""
        return jnp.broadcast_to(array, (len(self.seeds), *array.shape))

    def _initial(self, sample: DemonstratedSteps) -> Any:
        def make(sample, key):
            return self.init(self.settings, self.problem, sample, key=key)

        keys = jax.vmap(jax.random.key)(jnp.asarray(self.seeds, jnp.uint32))
        return eqx.filter_jit(eqx.filter_vmap(make, in_axes=(None, 0)))(sample, keys)

    # -- keeping ---------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Everything but the arrays: what a checkpoint or a run directory says of this agent."""
        return {
            "method": self.method,
            "settings": config.to_dict(self.settings, FUNCTIONS),
            "problem": config.to_dict(self.problem, FUNCTIONS),
            "seeds": list(self.seeds),
            "environment": self._home,
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
            admitted = cls.needs.restrict(cls.method, demonstrations)
            cls.needs.check_actions(admitted, agent.problem.actions)
            agent._demonstrations = admitted
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
        pair = jnp.zeros((1, 2, agent.problem.demonstrated_dim))
        sample = DemonstratedSteps(pair, jnp.zeros(1, jnp.int32))
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
        agent._home = meta["environment"]
        agent._finish()
        return agent
