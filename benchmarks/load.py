"""Training on recordings that do not fit in memory: states of 1,000 dimensions, up to 100,000 of
them streamed from shards.

    python -m benchmarks.load [--trajectories 25000 50000 100000] [--dim 1000] [--iterations 2]
                              [--group FOLDER]

Every size is a new process, with an empty compilation cache, that trains MobILE with its default
settings on a folder of .npz shards. The table has the size of the recordings, seconds until
training begins (two passes over them and a part of compiling), of the first iteration (the rest of
compiling) and of a later one, and the peak of the resident memory, code of libraries included. The
exit code is 1 if the peak is above 1 GiB, or grows with the number of recordings by more than a
tenth of their size. A limit of the address space would not fit JAX, which reserves more than it
uses. A control group (Linux) limits what is used: with `--group` the training processes join that
of the folder, and are killed if they need more than it allows.

    mkdir /sys/fs/cgroup/memory/ilfo && cd /sys/fs/cgroup/memory/ilfo
    echo $((2**30)) > memory.limit_in_bytes    # version 2: /sys/fs/cgroup/ilfo, memory.max
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

from ilfo import Demonstrations

GIB = 2**30
LIMIT = 1.0
"""GiB."""
STEPS = 3
"""Transitions of a recording."""
SHARD = 2_000
"""Recordings in a shard."""
HORIZON = 50
CONTROLS = 2


class Drift(gym.Env[np.ndarray, np.ndarray]):
    """A stable linear system of many dimensions with two controls."""

    def __init__(self, dim: int):
        self.observation_space = gym.spaces.Box(-100.0, 100.0, (dim,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (CONTROLS,), np.float32)
        self._controls = np.random.default_rng(0).normal(size=(CONTROLS, dim))
        self._state = np.zeros(dim)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._state = self.np_random.normal(size=self._state.shape)
        return self._state.astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._state = after(self._state, np.asarray(action) @ self._controls)
        return self._state.astype(np.float32), 0.0, False, False, {}

    @property
    def controls(self) -> np.ndarray:
        """What each control adds."""
        return self._controls


def after(state: np.ndarray, control: np.ndarray) -> np.ndarray:
    """The next state."""
    return 0.95 * state + 0.1 * control


def write_shards(folder: Path, trajectories: int, dim: int) -> int:
    """Recordings of full control; returns their bytes in memory."""
    generator, control = np.random.default_rng(1), Drift(dim).controls.sum(0)
    for first in range(0, trajectories, SHARD):
        states = [generator.normal(size=(min(SHARD, trajectories - first), dim))]
        for _ in range(STEPS):
            states.append(after(states[-1], control))
        shard = np.stack(states, axis=1).astype(np.float32)
        Demonstrations.from_arrays(shard, terminal=False).save(folder / f"{first:06}.npz")
    return trajectories * (STEPS + 1) * dim * 4


def train(folder: Path, dim: int, iterations: int) -> dict[str, float]:
    """Train in this process; seconds, and the peak of resident memory in GiB."""
    from ilfo import MobILE
    from ilfo.agents import Callback

    seconds: list[float] = [time.perf_counter()]

    class Clock(Callback):
        def on_start(self, agent: Any) -> None:
            seconds.append(time.perf_counter())

        def on_iteration(self, agent: Any, log: Any) -> None:
            seconds.append(time.perf_counter())

    agent = MobILE(lambda: Drift(dim), Demonstrations.load(folder), horizon=HORIZON)
    agent.learn(2 * HORIZON * iterations, callback=Clock())
    began, ready, *ends = seconds
    return {
        "reading": ready - began,
        "first": ends[0] - ready,
        "iteration": (ends[-1] - ends[0]) / max(1, len(ends) - 1),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB,
    }


def measure(trajectories: int, dim: int, iterations: int, group: Path | None) -> dict[str, float]:
    """The same in a new process, of a control group if there is one, and the size of the recordings
    in GiB."""
    join = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)) if group else ()
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name) / "shards", Path(name) / "cache"
        folder.mkdir()
        size = write_shards(folder, trajectories, dim)
        arguments = ("--train", str(folder), "--dim", str(dim), "--iterations", str(iterations))
        done = subprocess.run(
            (*join, sys.executable, "-m", "benchmarks.load", *arguments),
            env=os.environ | {"XDG_CACHE_HOME": str(cache)},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    return json.loads(done.stdout.splitlines()[-1]) | {"size": size / GIB}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    parser.add_argument("--dim", type=int, default=1_000, help="dimension of the states")
    parser.add_argument("--iterations", type=int, default=2, help="outer iterations")
    parser.add_argument("--group", type=Path, help="folder of a control group to train in")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train is not None:
        print(json.dumps(train(args.train, args.dim, args.iterations)))
        return
    print("load average before:", *(f"{load:.1f}" for load in os.getloadavg()))
    rows = [measure(count, args.dim, args.iterations, args.group) for count in args.trajectories]
    table = Table("recordings", "GiB", "reading, s", "first iteration, s", "then, s", "peak, GiB")
    for count, row in zip(args.trajectories, rows, strict=True):
        numbers = [row[name] for name in ("size", "reading", "first", "iteration", "peak")]
        table.add_row(f"{count:,}", *(f"{number:.2f}" for number in numbers))
    Console().print(table)
    peaks = [row["peak"] for row in rows]
    if max(peaks) > LIMIT:
        sys.exit(f"the peak of {max(peaks):.2f} GiB is above {LIMIT:g} GiB")
    if peaks[-1] - peaks[0] > 0.1 * (rows[-1]["size"] - rows[0]["size"]):
        sys.exit("the peak grows with the number of recordings")


if __name__ == "__main__":
    main()
