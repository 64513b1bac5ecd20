"""The run that is killed, starved and lied to: behaviour cloning on CartPole, a second long."""

import json
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from benchmarks.faults.outcomes import Undetected
from ilfo.environments.tasks import find_task
from ilfo.runs.directory import RunDirectory
from ilfo.runs.launch import resume, start
from ilfo.runs.spec import RunSpec
from ilfo.storage.provenance import commit, source

MACHINE = {"threads": 1, "devices": 1}
HORIZON = 20
SETTINGS = ("passes=30", "policy.width=8", "policy.depth=1", "cloning.plan.batch_size=512")


class Faulty(gym.Wrapper):
    """CartPole, which does something wrong in one of its steps."""

    fault: Any = None
    """What happens: an exception, or a function of what a step returns."""
    left = 0
    """Steps before it happens."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1").unwrapped)

    def step(self, action: Any) -> Any:
        result = super().step(action)
        Faulty.left -= 1
        if Faulty.fault is None or Faulty.left != 0:
            return result
        if isinstance(Faulty.fault, BaseException):
            raise Faulty.fault
        return Faulty.fault(result)


class SmallRun:
    """The run as it should be, in a folder of its own."""

    ENV = "FaultyCartPole-v0"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ilfo-faults-"))
        self.reference = self.folder / "reference"
        self.demos = self.folder / "demos.npz"
        find_task("cartpole").load(2, actions=True).save(self.demos)
        gym.register(self.ENV, Faulty, max_episode_steps=500)
        commit(), source()  # remembered, so that no child asks git
        self._number = 0

    def new(self, inside: Path | None = None) -> Path:
        self._number += 1
        return (inside or self.folder) / f"run-{self._number}"

    def go(self, run: Path) -> None:
        """Start the run, or resume it; in a child."""
        import jax

        jax.config.update("jax_compilation_cache_dir", str(self.folder / "cache"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        if (run / "config.json").exists():
            resume(run, MACHINE)
            return
        spec = RunSpec(
            method="bc",
            task=None,
            env=self.ENV,
            demos=str(self.demos),
            horizon=HORIZON,
            changes=SETTINGS,
            accept_anyway=True,
        )
        start(spec, run, MACHINE, every=2)

    def check(self, run: Path) -> None:
        """Raise Undetected unless the run equals the reference to the bit."""
        if (run / "metrics.csv").read_bytes() != (self.reference / "metrics.csv").read_bytes():
            raise Undetected(f"{run / 'metrics.csv'} differs from that of a run without faults")
        mine, others = (_arrays(each / "last.npz") for each in (run, self.reference))
        if mine != others:
            raise Undetected(f"{run / 'last.npz'} differs from that of a run without faults")
        if _summary(run) != _summary(self.reference):
            raise Undetected(f"{run / 'summary.json'} differs from that of a run without faults")
        RunDirectory.open(run).check_files()
        expected = {entry.name for entry in self.reference.iterdir()}
        left = {entry.name for entry in run.iterdir()} - expected
        if left:
            raise Undetected(f"{run} has files that nobody needs: {sorted(left)}")


def _arrays(path: Path) -> dict[str, bytes]:
    with np.load(path) as archive:
        return {name: archive[name].tobytes() for name in archive.files if name != "meta"}


def _summary(run: Path) -> dict[str, Any]:
    return json.loads((run / "summary.json").read_text()) | {"seconds": None}
