"""From a trained expert to a file of demonstrations with its card."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ilfo.demonstrations import Demonstrations
from ilfo.environments.factory import Factory, factory
from ilfo.environments.spaces import action_space
from ilfo.environments.tasks import Task
from ilfo.evaluate import mean_return, play
from ilfo.experts.train import train
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.host import HostPolicy
from ilfo.randomness import Purpose
from ilfo.run import versions
from ilfo.scores import random_return


def train_and_record(task: Task, out: Path, seed: int, episodes: int, console: Console) -> None:
    """Stop at the first policy that reaches the task's expert return, and record it."""
    if out.exists():
        raise FileExistsError(f"{out} exists already; choose another file")
    made = factory(task.environment)
    for progress in train(made.make, horizon=made.horizon, seed=seed):
        console.print(f"samples {progress.samples}  return {progress.stochastic_return:.1f}")
        if progress.stochastic_return >= task.expert_return:
            break
    card = {
        "task": task.name,
        "rebuild": f"ilfo expert train {task.name} --seed {seed} --episodes {episodes} --out FILE",
        "expert_samples": progress.samples,
    }
    demonstrations = record(made, progress.policy, seed=seed, episodes=episodes, card=card)
    demonstrations.save(out)
    console.print(
        f"recorded {episodes} trajectories, mean return {demonstrations.expert_return:.1f}"
    )


def record(
    made: Factory, policy: AbstractPolicy, *, seed: int, episodes: int, card: Mapping[str, Any]
) -> Demonstrations:
    """The first episodes that the stochastic policy starts, with actions beside the states.

    `card` is what the file says of itself beyond what is measured here.
    """
    environments, actions = made.several(10), action_space(made.action_space)
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
    returns = [float(episode.rewards.sum()) for episode in played]
    measured = {
        "environment": made.name,
        "horizon": made.horizon,
        "seed": seed,
        "expert_return": float(np.mean(returns)),
        "expert_return_std": float(np.std(returns)),
        "expert_return_greedy": mean_return(
            play(environments, host, actions, episodes=episodes, seed=seed)
        ),
        "random_return": random_return(environments[0], episodes=episodes, seed=seed),
        "versions": versions(),
    }
    return Demonstrations.from_arrays(
        [episode.states for episode in played],
        terminal=[episode.terminal for episode in played],
        actions=[episode.actions for episode in played],
        returns=returns,
        metadata=dict(card) | measured,
    )
