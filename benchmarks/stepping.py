"""Overhead of collecting rollouts over stepping the environments.

    python -m benchmarks.stepping [--streams 8] [--turns 5]

For every task: steps per second of `collect` (policy, bookkeeping, resets) with several streams,
and of a bare loop of `env.step` with precomputed actions, resets included. Both take turns in one
process; the overhead is the ratio of their best times.
"""

import argparse
import time
from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from ilfo.common.spaces import action_space, state_dim
from ilfo.common.types import Normaliser
from ilfo.environments.factory import Factory, factory
from ilfo.environments.tasks import TASKS
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.collect import collect


def collecting(maker: Factory, streams: int) -> Callable[[], object]:
    """A function that collects one horizon in every stream."""
    dim, actions = state_dim(maker.observation_space), action_space(maker.action_space)
    policy = MLPPolicy().init(dim, actions, Normaliser.identity(dim), key=jax.random.key(0))
    stacked = jax.tree.map(lambda x: x[None] if eqx.is_array(x) else x, policy)
    environments = maker.make_many(streams)

    def run() -> object:
        return collect(
            environments, HostPolicy(stacked), actions, seeds=[0], iteration=0, steps=maker.horizon
        )

    return run


def stepping(maker: Factory, streams: int) -> Callable[[], object]:
    """A loop of `env.step` with the actions of one collection."""
    environments = maker.make_many(streams)
    rollout, _ = collecting(maker, streams)()  # type: ignore[misc]
    actions = action_space(maker.action_space)
    drawn = rollout.action[0].reshape(streams * maker.horizon, *rollout.action.shape[3:])
    ready = actions.to_environment(drawn)

    def run() -> None:
        for index, environment in enumerate(environments):
            environment.reset(seed=index)
            for action in ready[index * maker.horizon : (index + 1) * maker.horizon]:
                _, _, ends, stops, _ = environment.step(action)
                if ends or stops:
                    environment.reset()

    return run


def best(run: Callable[[], object], other: Callable[[], object], turns: int) -> tuple[float, float]:
    """Least seconds of both functions over the turns."""
    seconds = np.full((2, turns), np.inf)
    for turn in range(turns):
        for side, function in enumerate((run, other)):
            began = time.perf_counter()
            function()
            seconds[side, turn] = time.perf_counter() - began
    first, second = seconds.min(axis=1)
    return float(first), float(second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    table = Table("task", "collect, steps/s", "bare, steps/s", "overhead")
    for task in TASKS.values():
        maker = factory(task.environment)
        both = collecting(maker, args.streams), stepping(maker, args.streams)
        ours, bare = best(*both, args.turns)
        steps = args.streams * maker.horizon
        table.add_row(task.name, f"{steps / ours:.0f}", f"{steps / bare:.0f}", f"{ours / bare:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
