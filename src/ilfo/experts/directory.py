"""The directory of an expert that is trained by SAC: a run directory with other contents.

config.json     environment, seed and plan
metrics.csv     one row per round: returns, and what the updates logged
timings.csv     seconds of every round
last.npz        everything that training needs to go on, the replay included
best.npz        the policy whose smaller return, greedy or stochastic, was the largest so far
summary.json    its returns in new episodes, written at the end
"""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx

from ilfo.agents.problem import Problem, state_problem
from ilfo.agents.settings import differences
from ilfo.common.fitting import SGD, Adam
from ilfo.common.printable import brief
from ilfo.common.seeding import Purpose
from ilfo.common.spaces import state_dim
from ilfo.environments.factory import Factory, factory, module_of
from ilfo.experts.off_policy import OffPolicyPlan, OffPolicyTraining, Spaces, first_state
from ilfo.planners.sac import SAC
from ilfo.policies.squashed import SquashedMLP
from ilfo.runs.checks import check_env, check_here
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.storage import checkpoint, config
from ilfo.storage.provenance import commit, source, versions

BEST = "best.npz"
PARTS = {kind.__name__: kind for kind in (OffPolicyPlan, SAC, Adam, SGD)}
"""The components that a plan may name."""


class Round(NamedTuple):
    """What a round of training came to."""

    steps: int
    """Environment steps so far."""
    greedy_return: float
    stochastic_return: float
    seconds: float
    """Of this round, evaluation and saving included."""


class Expert(NamedTuple):
    """A trained expert, and where it comes from."""

    policy: SquashedMLP
    name: str
    """Id of its environment."""
    environment: Factory
    seed: int
    training: dict[str, Any]
    """Samples, the number of them at the best policy, seconds, plan and learning curve."""

    @property
    def command(self) -> str:
        """What trained it."""
        samples, plan = self.training["samples"], config.from_dict(self.training["plan"], PARTS)
        changes = differences(plan, OffPolicyPlan())
        command = f"ilfo expert train {self.name} --seed {self.seed}"
        command += f" --total-timesteps {samples} --out FOLDER"
        changed = "".join(f" {name}={value}" for name, value in changes.items())
        return command + (f" --set{changed}" if changed else "")

    @property
    def problem(self) -> Problem:
        """Sizes and spaces of its environment."""
        return state_problem(self.environment, state_dim(self.environment.observation_space), None)


def open_or_create(
    path: Path, environment: str, plan: OffPolicyPlan, seed: int, machine: Mapping[str, int]
) -> RunDirectory:
    """The directory in which to train, new or begun by the same command."""
    wanted = {"environment": environment, "seed": seed, "plan": config.to_dict(plan)}
    if not (path / "config.json").exists():
        made = {"commit": commit(), "source": source(), "versions": versions()}
        return RunDirectory.create(path, {"kind": "expert"} | wanted | made | {"machine": machine})
    run = RunDirectory.open(path, write=True)
    try:
        _check_expert(run)
        for name, value in wanted.items():
            begun_with = run.entry(name, type(value))
            if begun_with != value:
                raise RunError(
                    f"{path} was begun with the {name} {begun_with}, not {value}; give the same to "
                    "go on, or another --out"
                )
        check_here(run, machine)
    except BaseException:
        run.close()
        raise
    return run


def steps_left(run: RunDirectory, total_timesteps: int) -> int:
    """Environment steps of the whole rounds that training will take until there are so many."""
    taken = _steps(run.checkpoint) if run.checkpoint.exists() else 0
    every = _plan(run).every
    return max(-(-(total_timesteps - taken) // every), 0) * every


def train(
    run: RunDirectory, total_timesteps: int, watch: Callable[[int], None] = lambda steps: None
) -> Iterator[Round]:
    """Whole rounds, until there are at least so many environment steps; every round is saved.
    `watch` is told now and then how many steps were taken since it was told."""
    training = _training(run)
    if run.checkpoint.exists():
        training.state, _ = checkpoint.load(run.checkpoint, training.state)
    run.remove_rows_after(training.rounds)
    known = _rows(run, "metrics", "greedy_return", "stochastic_return")
    best = max(map(_worth, known), default=float("-inf"))
    while training.steps < total_timesteps:
        began = time.perf_counter()
        log = training.advance(watch)
        row = {"iteration": training.rounds, "steps": training.steps} | {
            f"{name}_return": training.evaluate(training.policy, greedy)
            for name, greedy in (("greedy", True), ("stochastic", False))
        }
        logged = {name: log.get(name) for name in ("critic_loss", "value", "entropy")}
        run.append("metrics", row | logged | {"temperature": log.get("temperature")})
        if _worth(row) > best:
            best = _worth(row)
            checkpoint.save(run.path / BEST, training.policy, {"steps": training.steps})
        # saved last: a training killed before that repeats the round, with the same result
        checkpoint.save(run.checkpoint, training.state, {"steps": training.steps})
        seconds = time.perf_counter() - began
        run.append("timings", {"iteration": training.rounds, "seconds": seconds})
        yield Round(training.steps, row["greedy_return"], row["stochastic_return"], seconds)


def finish(run: RunDirectory) -> dict[str, Any]:
    """Evaluate the best policy in new episodes, write the summary and return it."""
    # the command that trains it names the environment, so it is trusted
    expert, training = load(run.path, trust_env=_module(run)), _training(run)
    measured = {
        f"{name}_return": training.evaluate(expert.policy, greedy, Purpose.CHOOSE)
        for name, greedy in (("greedy", True), ("stochastic", False))
    }
    summary = {"environment": run.config["environment"]} | expert.training | measured
    run.write_summary(summary)
    return summary


def is_expert(path: Path) -> bool:
    """Whether this directory is that of an expert rather than of a run."""
    return RunDirectory.open(path).config.get("kind") == "expert"


def load(path: Path, environment: Factory | None = None, trust_env: str | None = None) -> Expert:
    """The best policy so far of a training; with `environment`, for acting in that one. Otherwise
    it is made from what the directory says, and `trust_env` is the module whose code that may run.
    """
    run = RunDirectory.open(path)
    _check_expert(run)
    if environment is None:
        check_env(path, run.entry("environment", str), trust_env)
    if not (run.path / BEST).exists():
        raise checkpoint.CheckpointError(f"{path} has no checkpoint yet; let a round finish first")
    name, seed, plan = run.entry("environment", str), _seed(run), _plan(run)
    env_factory = environment or factory(name)
    like = eqx.filter_eval_shape(
        lambda: first_state(plan, Spaces(env_factory), seed).learner.policy
    )
    policy, _ = checkpoint.load(run.path / BEST, like)
    rows = _rows(run, "metrics", "steps", "stochastic_return")
    if not rows:
        raise RunError(f"{run.path / 'metrics.csv'} has no rows; restore it")
    training = {
        "samples": rows[-1]["steps"],
        "best_at": _steps(run.path / BEST),
        "seconds": round(sum(row["seconds"] for row in _rows(run, "timings", "seconds")), 1),
        "plan": run.config["plan"],
        "curve": [[row["steps"], round(row["stochastic_return"], 2)] for row in rows],
    }
    return Expert(policy, name, env_factory, seed, training)


def _module(run: RunDirectory) -> str | None:
    return module_of(run.entry("environment", str))


def _training(run: RunDirectory) -> OffPolicyTraining:
    return OffPolicyTraining(factory(run.entry("environment", str)), _plan(run), _seed(run))


def _seed(run: RunDirectory) -> int:
    seed = run.entry("seed", int)
    if not 0 <= seed < 2**32:
        raise RunError(
            f"{run.path / 'config.json'} has a 'seed' that is not in [0, 2**32); restore it"
        )
    return seed


def _plan(run: RunDirectory) -> OffPolicyPlan:
    try:
        plan = config.from_dict(run.entry("plan", dict), PARTS)
    except config.ConfigError as error:
        said = f"{run.path / 'config.json'} has no usable 'plan': {brief(error)}; restore it"
        raise RunError(said) from error
    if not isinstance(plan, OffPolicyPlan):
        raise RunError(
            f"{run.path / 'config.json'} has a {type(plan).__name__} as 'plan', expected an "
            "OffPolicyPlan; restore it"
        )
    return plan


def _steps(path: Path) -> int:
    """Environment steps at a checkpoint."""
    steps = checkpoint.read_meta(path).get("steps")
    if not isinstance(steps, int):
        raise checkpoint.CheckpointError(f"{path} does not say its number of steps; restore it")
    return steps


def _rows(run: RunDirectory, table: str, *columns: str) -> list[dict[str, Any]]:
    """The rows of a table, or RunError if one lacks a number in these columns."""
    rows = run.rows(table)
    wrong = [name for name in columns if any(row.get(name) is None for row in rows)]
    if wrong:
        raise RunError(
            f"{run.path / f'{table}.csv'} lacks numbers in {', '.join(wrong)}; restore it"
        )
    return rows


def _check_expert(run: RunDirectory) -> None:
    if run.config.get("kind") != "expert":
        raise RunError(f"{run.path} holds a run of `ilfo train`, not the training of an expert")


def _worth(row: Mapping[str, Any]) -> float:
    return min(row["greedy_return"], row["stochastic_return"])
