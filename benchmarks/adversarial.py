"""Environment steps per second of GAIL on CartPole, end to end, beside the library `imitation`.

    python -m benchmarks.adversarial [--imitation DIR] [--torch torch==...] [--rounds 6] [--turns 3]

Both sides take turns in processes of their own, pinned to one and the same core: 4 streams of 500
steps per round, 8 updates of the classifier on 250 + 250 steps, networks of two layers (policy and
critic 64 wide, classifier 32), one TRPO step (15 conjugate gradients) with 10 passes of the critic,
or PPO with 10 passes. `imitation` 1.0.1 is installed into a virtual environment of its own: DIR if
it is given (and used again if it exists), else a temporary one. The first round is not counted,
since `ilfo` compiles in it; the last column shows its time. On a machine that is not idle, use the
rows in processor time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

STREAMS, STEPS, UPDATES, BATCH, EPOCHS = 4, 500, 8, 250, 10
REQUIREMENTS = ("imitation==1.0.1", "stable-baselines3==2.2.1", "sb3-contrib==2.2.1")
HERE = Path(__file__).resolve().parent
DEMONSTRATIONS = HERE.parent / "src" / "ilfo" / "data" / "bundled" / "cartpole.npz"


def ours(planner: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of each round; the first includes everything before it."""
    from ilfo.agents.callbacks import Callback
    from ilfo.common.fitting import Passes
    from ilfo.data.demonstrations import Demonstrations
    from ilfo.discriminators.classifier import Classifier
    from ilfo.methods.gail import GAIL, AdversarialSettings
    from ilfo.planners.base import AbstractPlanner
    from ilfo.planners.critic import GAECritic
    from ilfo.planners.ppo import PPO
    from ilfo.planners.trpo import TRPO

    passes = Passes(passes=EPOCHS, batch_size=128)
    critic = GAECritic(plan=passes)
    planners: dict[str, AbstractPlanner] = {
        "trpo": TRPO(cg_iterations=15, fisher_samples=STREAMS * STEPS, critic=critic),
        "ppo": PPO(plan=passes, critic=critic),
    }
    classifier = Classifier(
        width=32, regularisation="none", plan=Passes(passes=1, batch_size=BATCH)
    )
    settings = AdversarialSettings(
        classifier=classifier, planner=planners[planner], streams=STREAMS
    )
    now = lambda: (time.perf_counter(), time.process_time())

    class Clock(Callback):
        def __init__(self):
            self.times = [now()]

        def on_iteration(self, agent, log):
            self.times.append(now())

    demonstrations = Demonstrations.load(DEMONSTRATIONS, actions=True).take(10)
    clock = Clock()
    GAIL("CartPole-v1", demonstrations, settings).learn(rounds * STREAMS * STEPS, clock)
    spent = np.diff(np.array(clock.times), axis=0)
    return {"wall": spent[:, 0].tolist(), "cpu": spent[:, 1].tolist()}


def installed(folder: Path, torch: str) -> Path:
    """The Python of a virtual environment that has `imitation`."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", torch, *REQUIREMENTS]
        subprocess.run(pip, check=True)
    return python


def measure(command: list[str], core: int) -> dict[str, list[float]]:
    """Run a command on one core; the last line it prints, as JSON."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        command,
        env=environment,
        cwd=HERE.parent,
        check=False,
        capture_output=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        text=True,
    )
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {ran.returncode}:\n{ran.stderr}")
    return json.loads(ran.stdout.splitlines()[-1])


def best(turns: list[dict[str, list[float]]], clock: str) -> float:
    """Steps per second in the median round of the best turn."""
    return STREAMS * STEPS / min(float(np.median(turn[clock][1:])) for turn in turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--imitation", type=Path, help="virtual environment with imitation")
    parser.add_argument("--torch", default="torch", help="requirement, e.g. torch==2.13.0+cpu")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(ours(arguments.worker, arguments.rounds)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.imitation or Path(temporary) / "venv"
        compare(installed(folder, arguments.torch), arguments)


def compare(python: Path, arguments: argparse.Namespace) -> None:
    core = min(os.sched_getaffinity(0))
    sizes = list(map(str, (arguments.rounds, STREAMS, STEPS, UPDATES, BATCH, EPOCHS)))
    table = Table(
        *("planner", "clock", "imitation 1.0.1", "ilfo", "ratio", "ilfo's first round"),
        title="GAIL on CartPole, environment steps per second, one core",
    )
    for planner in ("trpo", "ppo"):
        theirs: list[dict[str, list[float]]] = []
        mine: list[dict[str, list[float]]] = []
        script = [str(python), str(HERE / "imitation_gail.py"), str(DEMONSTRATIONS), planner]
        worker = [sys.executable, "-m", "benchmarks.adversarial", "--worker", planner]
        for _ in range(arguments.turns):
            theirs.append(measure([*script, *sizes], core))
            mine.append(measure([*worker, "--rounds", str(arguments.rounds)], core))
        for clock in ("wall", "cpu"):
            other, own = best(theirs, clock), best(mine, clock)
            first = min(turn[clock][0] for turn in mine)
            table.add_row(
                planner, clock, f"{other:.0f}", f"{own:.0f}", f"{own / other:.1f}", f"{first:.1f} s"
            )
    Console().print(table)


if __name__ == "__main__":
    main()
