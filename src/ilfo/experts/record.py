"""Training an expert and recording its demonstrations, with metadata on where they come from."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ilfo.common.seeding import Purpose
from ilfo.common.spaces import action_space
from ilfo.common.tally import COMPILING, Tally
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.statements import NAMES
from ilfo.environments.factory import Factory, factory
from ilfo.environments.tasks import Task
from ilfo.experts.train import ExpertProgress, Plan, plan_for, train
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.episodes import Episode, mean_return, play
from ilfo.rollouts.scores import random_return
from ilfo.storage.config import to_dict
from ilfo.storage.provenance import commit, versions


class NoExpertError(ValueError):
    """Training used all its samples without reaching the required return."""


def train_and_record(
    task: Task,
    out: Path,
    seed: int,
    episodes: int,
    console: Console,
    plan: Plan | None = None,
    greedy_out: Path | None = None,
) -> None:
    """Train an expert for a task and save demonstrations of it to `out`, and of the same policy
    without noise to `greedy_out`.

    Training stops at the first policy whose mean return reaches the task's expert return, in the
    training rollouts and again in 50 further episodes, with noise and without.
    """
    for path in (out, greedy_out):
        if path is not None and path.exists():
            raise FileExistsError(f"{path} exists already; choose another file")
    plan = plan_for(task) if plan is None else plan
    env_factory, began = factory(task.environment), time.perf_counter()
    progress, curve = _trained(task, env_factory, seed, plan, console)
    rebuild = f"ilfo expert train {task.name} --seed {seed} --episodes {episodes}"
    metadata = {
        "task": task.name,
        "commit": commit(),
        "training": {
            "samples": progress.samples,
            "seconds": round(time.perf_counter() - began, 1),
            "plan": to_dict(plan.planner, {}) | {"streams": plan.streams},
            "curve": thinned(curve),
        },
    }
    for path, greedy in ((out, False), (greedy_out, True)):
        if path is None:
            continue
        option = "--out OTHER --greedy-out" if greedy else "--out"
        demonstrations = record(
            env_factory,
            progress.policy,
            seed=seed,
            episodes=episodes,
            metadata=metadata | {"rebuild": f"{rebuild} {option} FILE"},
            greedy=greedy,
        )
        demonstrations.save(path)
        console.print(
            f"recorded {episodes} {'greedy ' if greedy else ''}trajectories, mean return "
            f"{demonstrations.expert_return:.1f}"
        )


def _trained(
    task: Task, env_factory: Factory, seed: int, plan: Plan, console: Console
) -> tuple[ExpertProgress, list[list[float]]]:
    """The first expert that is good enough, and the curve of samples and returns up to it."""
    curve: list[list[float]] = []
    with Tally("samples", plan.limit, console, at_most=True, first=COMPILING) as tally:
        for progress in train(env_factory.make, horizon=env_factory.horizon, seed=seed, plan=plan):
            reached = f"return {progress.stochastic_return:.1f} of {task.expert_return:g}"
            tally.done(reached, progress.samples - tally.finished)
            curve.append([progress.samples, round(progress.stochastic_return, 2)])
            if progress.stochastic_return >= task.expert_return and _confirmed(
                task, env_factory, progress.policy, seed
            ):
                return progress, curve
            if progress.samples >= plan.limit:
                break
    best = max(value for _, value in curve)
    raise NoExpertError(
        f"no expert for {task.name} within {plan.limit} samples: the best return was "
        f"{best}, but {task.expert_return} is required; try another --seed"
    )


def thinned(curve: list[list[float]], points: int = 100) -> list[list[float]]:
    """About `points` points of a curve, including the last one."""
    kept = curve[:: max(len(curve) // points, 1)]
    return kept if kept[-1] == curve[-1] else [*kept, curve[-1]]


def _confirmed(task: Task, env_factory: Factory, policy: AbstractPolicy, seed: int) -> bool:
    """Whether 50 new episodes reach the expert return too, since the training rollouts may be
    lucky; and 50 of the policy without noise."""
    environments = env_factory.make_many(10)
    actions, host = action_space(env_factory.action_space), HostPolicy.single(policy)
    return all(
        mean_return(play(environments, host, actions, episodes=50, seed=seed, greedy=greedy))
        >= task.expert_return
        for greedy in (False, True)
    )


def record(
    env_factory: Factory,
    policy: AbstractPolicy,
    *,
    seed: int,
    episodes: int,
    metadata: Mapping[str, Any],
    greedy: bool = False,
) -> Demonstrations:
    """Demonstrations of the policy, stochastic or greedy, with actions.

    `metadata` is stored beside the returns, versions and other entries that are measured here.
    """
    environments = env_factory.make_many(10)
    actions, host = action_space(env_factory.action_space), HostPolicy.single(policy)
    playing = lambda greedy, purpose: play(
        environments, host, actions, episodes=episodes, seed=seed, purpose=purpose, greedy=greedy
    )
    played = list(playing(greedy, Purpose.RECORD))
    other = "expert_return_stochastic" if greedy else "expert_return_greedy"
    measured = {"greedy": greedy, other: mean_return(playing(not greedy, Purpose.EVALUATE))}
    return with_metadata(env_factory, played, seed, dict(metadata) | measured)


def with_metadata(
    env_factory: Factory, played: Sequence[Episode], seed: int, metadata: Mapping[str, Any]
) -> Demonstrations:
    """Episodes as demonstrations; environment, returns and versions are added to the metadata."""
    returns = [float(episode.rewards.sum()) for episode in played]
    measured: dict[str, Any] = {
        "environment": env_factory.name,
        "horizon": env_factory.horizon,
        "seed": seed,
        "expert_return": float(np.mean(returns)),
        "expert_return_std": float(np.std(returns)),
        "random_return": random_return(env_factory.make(), episodes=len(played), seed=seed),
        "versions": versions(),
    }
    if env_factory.names is not None:
        measured[NAMES] = list(env_factory.names)
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=[episode.terminal for episode in played],
        actions=[episode.actions for episode in played],
        returns=returns,
        metadata=dict(metadata) | measured,
    )
