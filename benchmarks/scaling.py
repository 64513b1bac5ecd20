"""How the cost of a MobILE iteration grows with the horizon and with the state's dimension.

    python -m benchmarks.scaling [--iterations 3]

Trains MobILE with its default settings, each case in a process of its own on one core: Hopper-v5
at horizons of 100, 300 and 1,000, then environments with states of 27, 105 and 348 numbers at
1,000. The recordings are random actions, because only time and memory are measured. Times are CPU
seconds of the process, which are the seconds of an idle core and which other processes disturb
little; the table has the fastest iteration after the first one, which compiles. The columns `per
step` and `per number` compare with growth in proportion: 1 is linear, less is better.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
DEMONSTRATIONS = 10
LONG = 1_000


class Case(NamedTuple):
    """An environment, what it is made with, and a horizon."""

    environment: str
    options: dict[str, bool]
    horizon: int


HOPPER = [Case("Hopper-v5", {}, horizon) for horizon in (100, 300, LONG)]
"""The same states at longer and longer horizons."""
LARGER = [
    Case("Ant-v5", {"include_cfrc_ext_in_observation": False}, LONG),
    Case("Ant-v5", {}, LONG),
    Case("Humanoid-v5", {}, LONG),
]
"""Larger and larger states at the longest one."""


class Measured(NamedTuple):
    case: Case
    dim: int
    seconds: float
    """CPU seconds of an iteration."""
    gib: float
    """Peak memory of the process."""


def measure(case: Case, iterations: int) -> Measured:
    """Train for a few iterations in this process."""
    import gymnasium as gym

    from ilfo.agents.callbacks import Callback
    from ilfo.methods.mobile import MobILE
    from ilfo.runs.machine import peak_memory

    class Clock(Callback):
        """CPU seconds of the process when each iteration ends."""

        def __init__(self):
            self.times: list[float] = []

        def on_iteration(self, agent, log):
            self.times.append(time.process_time())

    make = lambda: gym.make(case.environment, max_episode_steps=case.horizon, **case.options)
    agent = MobILE(make, random_recordings(make(), case.horizon), seeds=[100], accept_anyway=True)
    clock = Clock()
    agent.learn(iterations * agent.samples_per_iteration, clock)
    spent = [later - before for before, later in zip(clock.times, clock.times[1:], strict=False)]
    return Measured(case, agent.problem.state_dim, min(spent), peak_memory() or float("nan"))


def random_recordings(environment, steps: int):
    """Whole episodes of random actions, as long as the horizon whatever happens."""
    import numpy as np

    from ilfo.data.demonstrations import Demonstrations

    environment.action_space.seed(0)
    environment = environment.unwrapped  # goes on after an ending, and has no time limit
    trajectories = []
    for number in range(DEMONSTRATIONS):
        states = [environment.reset(seed=number)[0]]
        for _ in range(steps):
            states.append(environment.step(environment.action_space.sample())[0])
        trajectories.append(np.stack(states))
    return Demonstrations.from_arrays(trajectories, terminal=False)


def in_its_own_process(case: Case, iterations: int) -> Measured:
    """Peak memory is that of a process, so every case has one."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--case", json.dumps(case)]
    ran = subprocess.run(
        [*command, "--iterations", str(iterations)],
        env=os.environ | ONE_CORE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    _, dim, seconds, gib = json.loads(ran.stdout.splitlines()[-1])
    return Measured(case, dim, seconds, gib)


def table(measured: list[Measured]) -> str:
    """Markdown, with the growth beside the case that is the base of each comparison."""
    from ilfo.common.text_tables import as_markdown

    longest = next(m for m in measured if m.case == HOPPER[-1])
    header = ("environment", "dimension", "horizon", "CPU s per iteration", "GiB", "per step")
    rows = [(*header, "per number")]
    for m in measured:
        by_step = m.seconds / m.case.horizon / (measured[0].seconds / measured[0].case.horizon)
        by_number = m.seconds / m.dim / (longest.seconds / longest.dim)
        rows.append(
            (
                m.case.environment,
                str(m.dim),
                f"{m.case.horizon:,}",
                f"{m.seconds:.2f}",
                f"{m.gib:.2f}",
                f"{by_step:.2f}" if m.case in HOPPER else "",
                f"{by_number:.2f}" if m.case.horizon == LONG else "",
            )
        )
    return as_markdown(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.iterations < 2:
        parser.error("--iterations must be at least 2: the first one compiles")
    if options.case is not None:
        print(json.dumps(measure(Case(*json.loads(options.case)), options.iterations)))
        return
    measured = []
    for case in HOPPER + LARGER:
        measured.append(in_its_own_process(case, options.iterations))
        print(measured[-1], file=sys.stderr, flush=True)
    print(table(measured))


if __name__ == "__main__":
    main()
