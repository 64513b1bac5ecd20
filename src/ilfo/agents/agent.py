"""What every learner offers: learn, predict, save, load; several seeds side by side.

The loop is the same for all methods: interact on the host, then one compiled `improve`.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ilfo.agents import budget, saving
from ilfo.agents.acting import EvaluationEnvironments, Predictor, collect_rollout
from ilfo.agents.callbacks import NOBODY, Callback, Callbacks, Watcher
from ilfo.agents.divergence import check_log
from ilfo.agents.examination import examine
from ilfo.agents.expert import Survey, prepare_expert, survey
from ilfo.agents.findings import Finding
from ilfo.agents.history import History
from ilfo.agents.method import LearningWarning, Method
from ilfo.agents.problem import (
    Problem,
    feature_of,
    in_control_steps,
    offline_problem,
    state_problem,
)
from ilfo.agents.progress import FIRST_ITERATION, Progress
from ilfo.agents.registry import COMPONENTS
from ilfo.agents.seeds import OverSeeds, one_seed
from ilfo.agents.selection import Choice
from ilfo.agents.settings import changed
from ilfo.agents.sight import Sight, look
from ilfo.common.compiling import compiled
from ilfo.common.devices import devices
from ilfo.common.seeding import Purpose, seed_numbers
from ilfo.common.types import DemonstratedSteps, Expert
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Environment, Factory, factory
from ilfo.environments.observing import dimension_names
from ilfo.policies import portable
from ilfo.policies.base import AbstractPolicy
from ilfo.rollouts.episodes import Episode


class Agent:
    """`Agent(environment, demonstrations, settings, seeds=5).learn(30_000)`.

    A subclass names its `method` and adds nothing else.

    **Arguments**

    - `environment`: a Gymnasium id, an environment made by `gymnasium.make`, or a function that
      makes one; with observations that are a Box, or a Dict or Tuple of Boxes, and actions that
      are a bounded Box, Discrete, MultiDiscrete or MultiBinary.
    - `demonstrations`: recorded trajectories, see `ilfo.Demonstrations`.
    - `settings`: hyper-parameters, or what differs from the default ones, by name:
      `{"planner": "PPO", "planner.clip": 0.1}`.
    - `seeds`: how many seeds to train side by side, or their numbers.
    - `horizon`: longest episode, where the environment has no time limit or another is wanted.
    - `feature_map`: a JAX function h, when the demonstrations hold h(s) instead of states.
    - `action_space`: what the actions are, for a method that can do without an environment.
    - `accept_anyway`: train even if the demonstrations look wrong for the environment.
    """

    method: ClassVar[Method]
    _factory: Factory | None = None
    _accept_anyway: bool = False

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
        accept_anyway: bool = False,
    ):
        if not isinstance(demonstrations, Demonstrations):
            raise ValueError(
                f"demonstrations are a {type(demonstrations).__name__}, but must be "
                "ilfo.Demonstrations; make them by Demonstrations.load(FILE) or "
                "Demonstrations.from_arrays(STATES, ...)"
            )
        name, needs = self.method.name, self.method.needs
        needs.check_environment(name, environment)
        maker = None if environment is None else factory(environment, horizon)
        if maker is not None:
            demonstrations = in_control_steps(demonstrations, maker)
        restricted = needs.restrict(name, demonstrations)
        if maker is None:
            problem = offline_problem(demonstrations, action_space, horizon)
        else:
            feature_map = feature_of(demonstrations, feature_map)
            problem = state_problem(maker, demonstrations.dim, feature_map, demonstrations.every)
        needs.check_problem(name, problem.actions, feature_map)
        settings = self._settings({} if settings is None else settings)
        self._set_up(settings, problem, seed_numbers(seeds), maker.name if maker else None)
        self._factory = maker
        self._accept_anyway = accept_anyway
        self._take(restricted)
        self.method.check(self)

    def _settings(self, given: Any) -> Any:
        kind = self.method.settings
        if isinstance(given, Mapping):
            parts = {part.__name__: part for part in self.method.parts}
            return changed(kind(), given, COMPONENTS | parts)
        if isinstance(given, kind):
            return given
        raise ValueError(
            f"settings are a {type(given).__name__}, but must be {kind.__name__}(...), changes of "
            "it such as {'streams': 4}, or left out"
        )

    def _set_up(self, settings: Any, problem: Problem, seeds: tuple[int, ...], name: str | None):
        self.settings, self.problem, self.seeds = settings, problem, seeds
        self.learned_in = name
        """Name of the environment that learning began with; None where there was none."""
        self.state: Any = None
        """The train state; arrays have the axis of seeds. None before learning."""
        self.seconds = {"compile": 0.0, "collect": 0.0, "improve": 0.0}
        self._elapsed = 0.0
        """Seconds in `learn`."""
        self.goal: Mapping[str, int] = {}
        """How long the last call of `learn` trains, as an entry of the log; empty before it."""
        self.history = History(seeds)
        """What the iterations logged, column by column."""
        self.environments: list[gym.Env] = []
        """One for each seed and stream, to learn from; made when learning begins."""
        self._demonstrations: Demonstrations | None = None
        self._expert: Expert | None = None
        improve = self.method.improve
        self._improve = OverSeeds(
            lambda *args: improve(settings, problem, *args),
            devices=min(len(seeds), len(devices())),
        )
        self._evaluation = EvaluationEnvironments(problem)
        self._generator = np.random.default_rng([seeds[0], Purpose.PREDICT])
        self._predictor: tuple[Any, Predictor] | None = None

    def __repr__(self) -> str:
        where = self.learned_in or "no environment"
        return (
            f"{type(self).__name__}({where}, seeds {', '.join(map(str, self.seeds))}, "
            f"{self.iteration} iterations, {self.settings!r})"
        )

    def _take(self, demonstrations: Demonstrations) -> None:
        self._demonstrations = demonstrations
        if self.method.needs.actions:  # wrong actions are an error now, not when learning begins
            _ = self.survey

    @property
    def factory(self) -> Factory:
        """Makes the environment that the agent learns in."""
        if self._factory is None:
            raise ValueError("this agent was loaded without an environment; pass it to load")
        return self._factory

    @property
    def has_environment(self) -> bool:
        return self._factory is not None

    @property
    def demonstrations(self) -> Demonstrations:
        if self._demonstrations is None:
            raise ValueError(
                "this agent was loaded without demonstrations, so it cannot continue learning; "
                "pass them and the environment to load"
            )
        return self._demonstrations

    @cached_property
    def survey(self) -> Survey:
        """The first pass over the demonstrations, made once."""
        return survey(self.method.needs, self.demonstrations, self.problem.actions)

    @cached_property
    def findings(self) -> list[Finding]:
        """What is wrong or doubtful about imitating these demonstrations in this environment; the
        environment is reset and acted in for a moment to find out."""
        if not self.has_environment:
            return []
        return examine(
            self.sight,
            self.factory,
            self.problem,
            self.survey.recordings,
            np.asarray(self.survey.steps.pairs),
            clips=self.demonstrations.clips,
        )

    @cached_property
    def sight(self) -> Sight:
        """What the environment shows in a moment of looking, in the numbers of the recordings."""
        names = dimension_names(self.demonstrations, self.factory)
        return look(self.factory, self.problem, names)

    def _steps(self) -> DemonstratedSteps:
        """The sample of demonstrated steps, with what the environment says of their scales."""
        steps = self.survey.steps
        if not self.has_environment:
            return steps
        return steps._replace(least=jnp.asarray(self.sight.least_scales))

    # -- training --------------------------------------------------------------------------------

    @property
    def samples_per_iteration(self) -> int:
        """Environment steps that each seed takes in an iteration to learn."""
        return budget.samples_per_iteration(self)

    @property
    def iteration(self) -> int:
        return 0 if self.state is None else int(self.state.iteration[0])

    @property
    def online_samples(self) -> int:
        """Environment steps that each seed has taken to learn."""
        return self.iteration * self.samples_per_iteration

    @property
    def exploring_iterations(self) -> int:
        """Iterations, from the first one on, in which the untrained policy acts on purpose."""
        return self.method.explores(self)

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: Callback | Watcher | Iterable[Callback | Watcher] | None = None,
        progress_bar: bool = False,
    ) -> Self:
        """Train until each seed has taken `total_timesteps` steps since its beginning, in whole
        iterations. Calling it again with more continues. A method that takes no steps trains for
        as many iterations as its settings say.

        A callback is an instance of `ilfo.agents.Callback`, or a function of agent and log."""
        self.check_budget(total_timesteps)
        self._check_home()
        self.goal = budget.total(self, total_timesteps)
        watching = Callbacks(callback)
        if progress_bar:
            watching.several.append(Progress())
        start = time.perf_counter() - self._elapsed
        try:
            if self.state is None:
                self.check_recordings(watching)
            self._prepare(watching)
            watching.on_start(self)
            while budget.unfinished(self, total_timesteps):
                log = self._iterate(watching)
                log["seconds"] = self._elapsed = time.perf_counter() - start
                self.history.add(log)
                if not watching.on_iteration(self, {**log, **self.goal}):
                    break
        finally:
            watching.on_end(self)
        for remark in self.remarks():
            warnings.warn(remark, LearningWarning, stacklevel=2)
        return self

    def remarks(self) -> list[str]:
        """What the user should know about the result, beside `findings`."""
        remarks, every = self.method.remarks(self), self.problem.every
        if every > 1 and self.method.needs.steps:
            remarks.append(
                f"demonstrated states are {every} control steps apart, but {self.method.name} "
                "takes neighbouring ones for one step; use mobile, or recordings at the control "
                "rate"
            )
        return remarks

    def check_budget(self, total_timesteps: int | None) -> None:
        """That so many environment steps can be taken, or an error that says why not."""
        budget.check_budget(self, total_timesteps)

    def check_recordings(self, watching: Callback = NOBODY) -> None:
        """That nothing is wrong with the demonstrations, or that it was accepted; what is doubtful
        is a warning."""
        if "findings" not in vars(self):  # a cached property: it was not looked yet
            watching.on_phase(self, "comparing the recordings with the environment")
        wrong = [finding.text for finding in self.findings if finding.wrong]
        if wrong and not self._accept_anyway:
            raise ValueError(
                f"{'; '.join(wrong)}. To train all the same, say so: --accept-anyway, or "
                "accept_anyway=True"
            )
        for finding in self.findings:
            warnings.warn(finding.text, LearningWarning, stacklevel=3)

    def _check_home(self) -> None:
        """An agent continues with an environment exactly if it began with one."""
        if self.learned_in is not None:
            _ = self.factory
        elif self._factory is not None:
            raise ValueError(
                "this agent began to learn without an environment, so it cannot continue with one; "
                "load it without the environment, or start a new agent"
            )

    def _iterate(self, watching: Callback) -> dict[str, Any]:
        began = time.perf_counter()
        args = (self.state, self.interact(), self._expert)
        collected = time.perf_counter()
        if not self._improve.is_compiled:
            watching.on_phase(self, "compiling")
            self._improve.compile(*args)
            watching.on_phase(self, FIRST_ITERATION)
        compiled = time.perf_counter()
        state, log = self._improve(*args)
        log = {name: np.asarray(value) for name, value in log.items()}
        check_log(log, self.seeds, self.iteration)
        self.state = state
        self.seconds["collect"] += collected - began
        self.seconds["compile"] += compiled - collected
        self.seconds["improve"] += time.perf_counter() - compiled
        log = {name: value for name, value in log.items() if not name.startswith("finite_")}
        if "mmd" in log and self.noise_floor is not None:
            # a method that pools rollouts knows itself of how many its estimate is
            log = {"mmd_floor": self.noise_floor} | log
        return log | {"iteration": self.iteration, "online_samples": self.online_samples}

    @cached_property
    def noise_floor(self) -> np.ndarray | None:
        """Of each seed: the distance that as many episodes of the expert as an iteration has
        rollouts would have from the demonstrations; None without a discriminator."""
        assert self._expert is not None
        floor = self._expert.floor
        return None if floor is None else np.asarray(floor(self.settings.streams))

    def interact(self) -> Any:
        """The experience of one iteration; arrays have the axis of seeds."""
        return (self.method.interact or collect_rollout)(self)

    def _prepare(self, watching: Callback = NOBODY) -> None:
        """Read the demonstrations and make state and environments, where not done yet."""
        began = time.perf_counter()
        watching.on_phase(self, "preparing")
        if self.samples_per_iteration and not self.environments:
            count = len(self.seeds) * self.settings.streams
            self.environments = self.factory.make_many(count)
        if self._expert is None:
            if self.state is None:
                steps = self._steps()
                self.state = compiled(self.initial_state, steps)(steps)
            self._expert = prepare_expert(self)
        self.seconds["compile"] += time.perf_counter() - began

    def initial_state(self, steps: DemonstratedSteps) -> Any:
        def make(steps, key):
            return self.method.init(self.settings, self.problem, steps, key=key)

        keys = jax.vmap(jax.random.key)(jnp.asarray(self.seeds, jnp.uint32))
        return eqx.filter_vmap(make, in_axes=(None, 0))(steps, keys)

    # -- acting ----------------------------------------------------------------------------------

    @property
    def best_seed(self) -> int:
        """Index of the seed whose selected policy has the best value."""
        return int(np.argmin(np.asarray(self.choice().value)))

    def choice(self, rule: str | None = None) -> Choice:
        """What was selected for each seed, by that rule or by the method's first one."""
        if self.state is None:
            raise ValueError("this agent has not learned anything yet; call learn first")
        fields = {selection.rule: selection.field for selection in self.method.selections}
        rule = next(iter(fields)) if rule is None else rule
        if rule not in fields:
            raise ValueError(
                f"{self.method.name} does not select policies by {rule!r}; it does by: "
                f"{', '.join(fields)}"
            )
        return getattr(self.state, fields[rule])

    def policy(self, index: int | None = None, rule: str | None = None) -> AbstractPolicy:
        """The policy selected for a seed (by index); by default the best seed's."""
        return one_seed(self.choice(rule).policy, self.best_seed if index is None else index)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """An action for one observation, or one for each of a batch; `state` passes through.

        A Dict or Tuple of an environment that the agent knows is flattened, one at a time. The
        signature is Stable-Baselines3's.
        """
        if isinstance(observation, Mapping) or self._is_tuple(observation):
            observation = self.factory.flat(observation)
        if self._predictor is None or self._predictor[0] is not self.state:
            self._predictor = (self.state, Predictor(self.policy(), self.problem))
        return self._predictor[1](observation, self._generator, deterministic), state

    def _is_tuple(self, observation: Any) -> bool:
        own = None if self._factory is None else self._factory.own_observations
        return isinstance(own, gym.spaces.Tuple) and isinstance(observation, tuple)

    def play(
        self,
        policy: AbstractPolicy,
        *,
        episodes: int,
        seed: int,
        greedy: bool = True,
        purpose: int = Purpose.EVALUATE,
    ) -> Iterator[Episode]:
        """Whole episodes of a policy in the agent's environment, for evaluation: neither the steps
        nor the rewards have a part in learning."""
        return self._evaluation.play(
            self.factory, policy, episodes=episodes, seed=seed, greedy=greedy, purpose=purpose
        )

    # -- saving ----------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Everything but the arrays: what a checkpoint or a run directory says of this agent."""
        return saving.describe(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the whole training state to one file, without pickle."""
        saving.save(self, path, overwrite)

    def export(self, path: str | os.PathLike[str], index: int | None = None) -> None:
        """Write the policy of a seed (by index; by default the best one's) to a new file for
        programs without `ilfo`: `.npz`, `.onnx` or `.pt`. See `ilfo.policies.portable`."""
        path, problem = Path(path), self.problem
        portable.check_name(path)
        shape = problem.observation_shape
        portable.write(portable.to_arrays(self.policy(index), problem.actions, shape), path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        environment: Environment | None = None,
        demonstrations: Demonstrations | None = None,
        functions: Mapping[str, Callable] | None = None,
        components: Sequence[type] = (),
    ) -> Self:
        """An agent as it was saved, or as a run directory has it. It can predict at once; with the
        environment it can also play, and with the demonstrations continue learning.

        Functions of your own (a feature map, a known termination) are not in the file: pass them
        by the field's path, e.g. `functions={"feature_map": h, "termination.function": rule}`;
        and the classes of components of your own: `components=[MyPlanner]`.
        """
        folder, path = path, saving.file_in(path)
        saved = saving.read_description(cls, path, functions or {}, components)
        agent = cls.__new__(cls)
        agent._set_up(
            saved["settings"], saved["problem"], tuple(saved["seeds"]), saved["environment"]
        )
        maker = None if environment is None else factory(environment, agent.problem.horizon)
        if demonstrations is not None:
            if maker is not None:
                demonstrations = in_control_steps(demonstrations, maker)
            agent._take(cls.method.needs.restrict(cls.method.name, demonstrations))
        if maker is not None:
            saving.check_same_problem(agent, maker, demonstrations, path)
            agent._factory = maker
        agent.restore(path)
        table = Path(folder) / "metrics.csv"
        if table.exists():
            agent.history.read(table, agent.iteration)
        return agent

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Continue from the train state that an agent of the same settings has saved."""
        self.state = saving.read_state(self, path)
