"""From a trained expert to a file of demonstrations with its card."""

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
    """Training took all the samples it may and the return still falls short."""


def train_and_record(
    task: Task, out: Path, seed: int, episodes: int, console: Console, plan: Plan | None = None
) -> None:
    """Stop at the first policy that reaches the task's expert return, in its own streams and then
    in 50 episodes more, and record it."""
    if out.exists():
        raise FileExistsError(f"{out} exists already; choose another file")
    plan = plan_for(task) if plan is None else plan
    made, began, curve = factory(task.environment), time.perf_counter(), []
    for progress in train(made.make, horizon=made.horizon, seed=seed, plan=plan):
        console.print(f"samples {progress.samples}  return {progress.stochastic_return:.1f}")
        curve.append([progress.samples, round(progress.stochastic_return, 2)])
        if progress.stochastic_return >= task.expert_return and _confirmed(
            task, made, progress.policy, seed
        ):
            break
        if progress.samples >= plan.limit:
            best = max(value for _, value in curve)
            raise NoExpertError(
                f"no expert for {task.name} within {plan.limit} samples: the best return was "
                f"{best}, not {task.expert_return}; try another --seed"
            )
    card = {
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
    demonstrations = record(made, progress.policy, seed=seed, episodes=episodes, card=card)
    demonstrations.save(out)
    console.print(
        f"recorded {episodes} trajectories, mean return {demonstrations.expert_return:.1f}"
    )


def thinned(curve: list[list[float]], points: int = 100) -> list[list[float]]:
    """About as many of its points, the last among them."""
    kept = curve[:: max(len(curve) // points, 1)]
    return kept if kept[-1] == curve[-1] else [*kept, curve[-1]]


def _confirmed(task: Task, made: Factory, policy: AbstractPolicy, seed: int) -> bool:
    """A few streams that did well may have been lucky."""
    played = play(
        made.make_many(10),
        HostPolicy.single(policy),
        action_space(made.action_space),
        episodes=50,
        seed=seed,
        greedy=False,
    )
    return mean_return(played) >= task.expert_return


def record(
    made: Factory, policy: AbstractPolicy, *, seed: int, episodes: int, card: Mapping[str, Any]
) -> Demonstrations:
    """The first episodes that the stochastic policy starts, with actions beside the states.

    `card` is what the file says of itself beyond what is measured here.
    """
    environments, actions = made.make_many(10), action_space(made.action_space)
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
    return with_card(made, played, seed, dict(card) | {"expert_return_greedy": greedy})


def with_card(
    made: Factory, played: Sequence[Episode], seed: int, card: Mapping[str, Any]
) -> Demonstrations:
    """Episodes as demonstrations that say where they come from."""
    returns = [float(episode.rewards.sum()) for episode in played]
    measured = {
        "environment": made.name,
        "horizon": made.horizon,
        "seed": seed,
        "expert_return": float(np.mean(returns)),
        "expert_return_std": float(np.std(returns)),
        "random_return": random_return(made.make(), episodes=len(played), seed=seed),
        "versions": versions(),
    }
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=[episode.terminal for episode in played],
        actions=[episode.actions for episode in played],
        returns=returns,
        metadata=dict(card) | measured,
    )
