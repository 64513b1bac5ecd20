"""Training an expert and recording its demonstrations, with metadata on where they come from."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ilfo.common.seeding import Purpose
from ilfo.common.spaces import action_space
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Factory, factory
from ilfo.environments.tasks import Task
from ilfo.experts.train import Plan, plan_for, train
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.episodes import Episode, mean_return, play
from ilfo.rollouts.scores import random_return
from ilfo.storage.config import to_dict
from ilfo.storage.provenance import commit, versions


class NoExpertError(ValueError):
    """Training used all its samples without reaching the required return."""


def train_and_record(
    task: Task, out: Path, seed: int, episodes: int, console: Console, plan: Plan | None = None
) -> None:
    """Train an expert for a task and save demonstrations of it to `out`.

    Training stops at the first policy whose mean return reaches the task's expert return, in the
    training rollouts and again in 50 further episodes.
    """
    if out.exists():
        raise FileExistsError(f"{out} exists already; choose another file")
    plan = plan_for(task) if plan is None else plan
    env_factory, began, curve = factory(task.environment), time.perf_counter(), []
    for progress in train(env_factory.make, horizon=env_factory.horizon, seed=seed, plan=plan):
        console.print(f"samples {progress.samples}  return {progress.stochastic_return:.1f}")
        curve.append([progress.samples, round(progress.stochastic_return, 2)])
        if progress.stochastic_return >= task.expert_return and _confirmed(
            task, env_factory, progress.policy, seed
        ):
            break
        if progress.samples >= plan.limit:
            best = max(value for _, value in curve)
            raise NoExpertError(
                f"no expert for {task.name} within {plan.limit} samples: the best return was "
                f"{best}, but {task.expert_return} is required; try another --seed"
            )
    metadata = {
        "task": task.name,
        "rebuild": f"ilfo expert train {task.name} --seed {seed} --episodes {episodes} --out FILE",
        "commit": commit(),
        "training": {
            "samples": progress.samples,
            "seconds": round(time.perf_counter() - began, 1),
            "plan": to_dict(plan.planner, {}) | {"streams": plan.streams},
            "curve": thinned(curve),
        },
    }
    demonstrations = record(
        env_factory, progress.policy, seed=seed, episodes=episodes, metadata=metadata
    )
    demonstrations.save(out)
    console.print(
        f"recorded {episodes} trajectories, mean return {demonstrations.expert_return:.1f}"
    )


def thinned(curve: list[list[float]], points: int = 100) -> list[list[float]]:
    """About `points` points of a curve, including the last one."""
    kept = curve[:: max(len(curve) // points, 1)]
    return kept if kept[-1] == curve[-1] else [*kept, curve[-1]]


def _confirmed(task: Task, env_factory: Factory, policy: AbstractPolicy, seed: int) -> bool:
    """Whether 50 new episodes reach the expert return too: the training rollouts may be lucky."""
    played = play(
        env_factory.make_many(10),
        HostPolicy.single(policy),
        action_space(env_factory.action_space),
        episodes=50,
        seed=seed,
        greedy=False,
    )
    return mean_return(played) >= task.expert_return


def record(
    env_factory: Factory,
    policy: AbstractPolicy,
    *,
    seed: int,
    episodes: int,
    metadata: Mapping[str, Any],
) -> Demonstrations:
    """Demonstrations of the stochastic policy, with actions.

    `metadata` is stored beside the returns, versions and other entries that are measured here.
    """
    environments = env_factory.make_many(10)
    actions = action_space(env_factory.action_space)
    host = HostPolicy.single(policy)
    played = list(
        play(
            environments,
            host,
            actions,
            episodes=episodes,
            seed=seed,
            purpose=Purpose.RECORD,
            greedy=False,
        )
    )
    greedy = mean_return(play(environments, host, actions, episodes=episodes, seed=seed))
    measured = {"expert_return_greedy": greedy}
    return with_metadata(env_factory, played, seed, dict(metadata) | measured)


def with_metadata(
    env_factory: Factory, played: Sequence[Episode], seed: int, metadata: Mapping[str, Any]
) -> Demonstrations:
    """Episodes as demonstrations; environment, returns and versions are added to the metadata."""
    returns = [float(episode.rewards.sum()) for episode in played]
    measured = {
        "environment": env_factory.name,
        "horizon": env_factory.horizon,
        "seed": seed,
        "expert_return": float(np.mean(returns)),
        "expert_return_std": float(np.std(returns)),
        "random_return": random_return(env_factory.make(), episodes=len(played), seed=seed),
        "versions": versions(),
    }
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=[episode.terminal for episode in played],
        actions=[episode.actions for episode in played],
        returns=returns,
        metadata=dict(metadata) | measured,
    )
