"""TensorBoard: a callback that writes event files; needs the extra `tensorboard`."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.agents.callbacks import Callback
from ilfo.common.optional import needed_from

APART = ("iteration", "online_samples", "total_timesteps", "total_iterations")
"""What is no curve of its own: the first ones are the axes."""


class TensorBoard(Callback):
    """Writes what iterations log to a folder, one TensorBoard run per seed, over the environment
    steps; over iterations for a method that takes none.

    A folder that has something is continued: what it shows of later steps is hidden, so that a
    resumed run has one curve.
    """

    def __init__(self, folder: str | Path):
        with needed_from("tensorboard", "TensorBoard"):
            import tensorboardX  # noqa: F401
        self.folder = Path(folder)
        self._writers: list[Any] = []

    def on_start(self, agent: Any) -> None:
        from tensorboardX import SummaryWriter

        step = agent.online_samples or agent.iteration
        # files of the same second would overwrite each other
        options = {"purge_step": step + 1, "filename_suffix": f".{time.time_ns()}"}
        self._writers = [
            SummaryWriter(str(self.folder / f"seed-{seed}"), **options) for seed in agent.seeds
        ]

    def on_iteration(self, agent: Any, log: Mapping[str, Any]) -> None:
        step = int(log["online_samples"] or log["iteration"])
        for name, values in log.items():
            if name in APART or values is None:
                continue
            each = np.broadcast_to(np.asarray(values, float), len(self._writers))
            for writer, value in zip(self._writers, each, strict=True):
                writer.add_scalar(f"{agent.method.name}/{name}", float(value), step)
        for writer in self._writers:
            writer.flush()

    def on_end(self, agent: Any) -> None:
        for writer in self._writers:
            writer.close()
        self._writers = []
