"""SAC beside sbx (`sbx-rl`), the JAX version of Stable-Baselines3: speed, and what is learned.

    python -m benchmarks.sac [--turns 5] [--updates 50]
    python -m benchmarks.sac --learn [--seeds 5] [--steps 5000]

The first prints updates per second at equal sizes: batches of 256, two hidden layers of 256 units,
twin critics, learned temperature; the batches are drawn from a full replay. sbx makes one update
per call unless told otherwise, and can make as many per call as ours. Then environment steps per
second of whole training on Pendulum-v1, one update per step. The second trains both on Pendulum-v1
with equal steps and prints the greedy returns of ten episodes, with 95 % intervals over seeds.

All sides take turns in one process, with the best turn of each. On a machine that is not idle, use
the columns in processor time. sbx is not among the dependencies: `pip install sbx-rl`, best in a
virtual environment of its own.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from ilfo.common.spaces import BoxActions
from ilfo.common.statistics import interval
from ilfo.common.types import Normaliser, Transition
from ilfo.environments.factory import factory
from ilfo.experts.off_policy import OffPolicyPlan, OffPolicyTraining
from ilfo.planners.replay import Experience, empty_replay, push
from ilfo.planners.sac import SAC

SIZES = {"Hopper-v5": (11, 3), "HalfCheetah-v5": (17, 6), "Ant-v5": (105, 8)}
STORED, EPISODES, RANDOM_STEPS = 20_000, 10, 500
TASK = "Pendulum-v1"

try:
    import sbx
except ImportError:
    raise SystemExit("this benchmark needs sbx; install it with: pip install sbx-rl") from None


class Spaces(gym.Env):
    """Nothing but spaces of the right sizes."""

    def __init__(self, state_dim: int, action_dim: int):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (state_dim,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (action_dim,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.zeros(self.observation_space.shape, np.float32), {}


def stored(state_dim: int, action_dim: int) -> dict[str, np.ndarray]:
    """Random steps, the same for both sides."""
    draw = np.random.default_rng(0)
    normal = lambda *shape: draw.normal(size=shape).astype(np.float32)
    return {
        "state": normal(STORED, state_dim),
        "next_state": normal(STORED, state_dim),
        "action": np.tanh(normal(STORED, action_dim)),
        "reward": normal(STORED),
    }


def our_updates(state_dim: int, action_dim: int, count: int) -> Callable[[], Any]:
    """A function that makes `count` updates in one call."""
    actions = BoxActions((-1.0,) * action_dim, (1.0,) * action_dim, (action_dim,))
    spec, steps = SAC(), jax.tree.map(jnp.asarray, stored(state_dim, action_dim))
    state = spec.init(state_dim, actions, Normaliser.identity(state_dim), key=jax.random.key(0))
    never = jnp.zeros(STORED, bool)
    made = Transition(steps["state"], steps["action"], steps["next_state"], never)
    replay = push(empty_replay(state_dim, actions, STORED), Experience(made, steps["reward"]))
    update = eqx.filter_jit(lambda state, key: spec.updates(state, replay, count, key=key)[0])
    held = [state, jax.random.key(1)]

    def run() -> None:
        held[1], key = jax.random.split(held[1])
        held[0] = jax.block_until_ready(update(held[0], key))

    return run


def their_updates(state_dim: int, action_dim: int, count: int, per_call: int) -> Callable[[], Any]:
    """A function that makes `count` updates, so many in each call of compiled code."""
    environment = Spaces(state_dim, action_dim)
    model = sbx.SAC("MlpPolicy", environment, buffer_size=STORED, seed=0)
    model._setup_learn(1)
    steps = stored(state_dim, action_dim)
    for number in range(STORED):
        row = {name: value[number : number + 1] for name, value in steps.items()}
        never, nothing = np.zeros(1), [{}]
        model.replay_buffer.add(
            row["state"], row["next_state"], row["action"], row["reward"], never, nothing
        )

    def run() -> None:
        for _ in range(count // per_call):
            model.train(per_call, model.batch_size)
        jax.block_until_ready((model.policy.actor_state.params, model.policy.qf_state.params))

    return run


def our_training(seed: int, every: int) -> OffPolicyTraining:
    plan = OffPolicyPlan(capacity=20_000, random_steps=RANDOM_STEPS, every=every)
    return OffPolicyTraining(factory(TASK), plan, seed)


def their_training(seed: int) -> Any:
    return sbx.SAC("MlpPolicy", TASK, learning_starts=RANDOM_STEPS, seed=seed)


def timed(functions: dict[str, Callable[[], Any]], turns: int) -> dict[str, tuple[float, float]]:
    """Least wall-clock and processor seconds of each function, which take turns."""
    for function in functions.values():
        function()  # compiles
    best = dict.fromkeys(functions, (np.inf, np.inf))
    for _ in range(turns):
        for name, function in functions.items():
            began = time.perf_counter(), time.process_time()
            function()
            spent = time.perf_counter() - began[0], time.process_time() - began[1]
            best[name] = (min(best[name][0], spent[0]), min(best[name][1], spent[1]))
    return best


def print_speed(turns: int, count: int) -> None:
    table = Table(
        *("sizes", "clock", "sbx, 1 per call", f"sbx, {count} per call", "ilfo", "ratios"),
        title="updates per second",
    )
    for name, sizes in SIZES.items():
        spent = timed(
            {
                "one": their_updates(*sizes, count, 1),
                "many": their_updates(*sizes, count, count),
                "ours": our_updates(*sizes, count),
            },
            turns,
        )
        for clock, label in enumerate(("wall", "processor")):
            rates = {side: count / spent[side][clock] for side in spent}
            ratios = [rates["ours"] / rates[side] for side in ("one", "many")]
            shown = [f"{rate:.0f}" for rate in rates.values()]
            table.add_row(name, label, *shown, " and ".join(f"{ratio:.2f}" for ratio in ratios))
    Console().print(table)
    print_training_speed(turns)


def print_training_speed(turns: int, steps: int = 500) -> None:
    ours, theirs = our_training(0, steps), their_training(0)
    learn = lambda: theirs.learn(steps, reset_num_timesteps=False)
    ours.advance()
    learn()
    spent = timed({"sbx": learn, "ilfo": ours.advance}, turns)
    table = Table("clock", "sbx", "ilfo", "ratio", title=f"steps per second of training on {TASK}")
    for clock, label in enumerate(("wall", "processor")):
        other, own = (steps / spent[side][clock] for side in ("sbx", "ilfo"))
        table.add_row(label, f"{other:.0f}", f"{own:.0f}", f"{own / other:.2f}")
    Console().print(table)


def learned_by_ours(seed: int, steps: int) -> float:
    training = our_training(seed, steps)
    training.advance()
    return training.evaluate(training.policy, greedy=True)


def learned_by_theirs(seed: int, steps: int) -> float:
    from stable_baselines3.common.evaluation import evaluate_policy

    model = their_training(seed)
    model.learn(steps)
    environment = gym.make(TASK)
    environment.reset(seed=seed)
    return float(evaluate_policy(model, environment, EPISODES, warn=False)[0])


def print_learning(seeds: int, steps: int) -> None:
    table = Table("side", "mean", "95 % interval", "seeds", title=f"{TASK}, {steps} steps")
    for name, learned in (("sbx", learned_by_theirs), ("ilfo", learned_by_ours)):
        returns = [learned(seed, steps) for seed in range(seeds)]
        low, high = interval(returns)
        listed = " ".join(f"{value:.0f}" for value in returns)
        table.add_row(name, f"{np.mean(returns):.1f}", f"{low:.1f} to {high:.1f}", listed)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5000)
    arguments = parser.parse_args()
    if arguments.learn:
        print_learning(arguments.seeds, arguments.steps)
    else:
        print_speed(arguments.turns, arguments.updates)


if __name__ == "__main__":
    main()
