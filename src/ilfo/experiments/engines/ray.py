"""The engine of Ray: one task per job, on any node of a cluster."""

import socket
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from ilfo.common.optional import needed_from
from ilfo.experiments.engines.base import Engine, Event, Job
from ilfo.experiments.engines.ray_task import run_job
from ilfo.storage.provenance import source, versions

PAUSE = 1.0
"""Seconds after which waiting for a task is interrupted, so that Ctrl-C is heard."""
OWN = {"worker_niceness": 0}
"""Configuration of a cluster that is started here: Ray would let its tasks, and so our runs, wait
for everything else on the machine."""
LOST = ("WorkerCrashedError", "NodeDiedError", "ObjectLostError", "OutOfMemoryError")
"""Errors of Ray after which a job can be submitted again."""


class RayEngine(Engine):
    """Runs jobs as tasks of a Ray cluster, each with its resources reserved.

    A job goes to the cluster as plain data, and its task starts the same process that local runs
    have. Ray itself repeats no task: a job that is lost with its node is reported as such.
    """

    def __init__(self, address: str = "auto", cpus: int = 1, gpus: float = 0):
        """`address` of the cluster: `auto` for the one this machine belongs to, `local` for a new
        one on this machine alone."""
        with needed_from("ray", "--on ray"):
            import ray
        self._ray: Any = ray
        if address.startswith("ray://"):
            raise ValueError(
                f"--address is {address}, a Ray Client; run the command on a node of the cluster, "
                "with --address auto"
            )
        self._connect(address)
        self._task = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(run_job)
        self._code = {"source": source(), "versions": versions()}
        self._streams: dict[Any, Job] = {}
        self._places: dict[str, str] = {}
        self.largest = {
            name: max((node["Resources"].get(name, 0) for node in self._nodes()), default=0)
            for name in ("CPU", "GPU")
        }
        """Most CPUs and GPUs of any one node now."""

    def _connect(self, address: str) -> None:
        own = {"include_dashboard": False, "_system_config": OWN} if address == "local" else {}
        try:
            _check_reachable(address)
            with warnings.catch_warnings():
                # Ray forks only to start other programs
                warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")
                self._ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
        except Exception as error:  # Ray has no class of errors for this
            raise ValueError(
                f"there is no Ray cluster at {address!r} ({_first_line(error)}); start one with "
                "`ray start --head`, name the address of one, or use --address local for this "
                "machine alone"
            ) from error

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def submit(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            stream = self._task.options(name=job.name).remote(job._asdict(), self._code)
            self._streams[stream] = job

    def events(self) -> Iterator[Event]:
        while self._streams:
            waiting = list(self._streams)
            self._ray.wait(waiting, timeout=PAUSE, fetch_local=False)
            # all that are ready: looking through thousands of tasks for each one takes too long
            ready, _ = self._ray.wait(
                waiting, num_returns=len(waiting), timeout=0, fetch_local=False
            )
            for stream in ready:
                yield self._next(stream)

    def _next(self, stream: Any) -> Event:
        """A task says first where it runs, then how it has ended."""
        job = self._streams[stream]
        where = self._places.get(job.name, "")
        try:
            said = self._ray.get(next(stream))
        except (self._ray.exceptions.RayError, StopIteration) as error:
            del self._streams[stream]
            return Event(job, self._fate(error), where, _first_line(error))
        if "where" in said:
            self._places[job.name] = said["where"]
            return Event(job, "started", said["where"])
        del self._streams[stream]
        if "error" in said:
            return Event(job, "failed", where, said["error"])
        return Event(job, "done", where, product=said["product"], files=said.get("files"))

    def _fate(self, error: Exception) -> Any:
        lost = tuple(getattr(self._ray.exceptions, name) for name in LOST)
        return "lost" if isinstance(error, lost) else "failed"

    def cancel(self) -> None:
        for stream in self._streams:
            self._ray.cancel(stream, force=True)
        self._streams.clear()
        self._ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise an error at once for an address where nobody answers; Ray would try for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("expected auto, local or HOST:PORT")
    socket.create_connection((host, int(port)), timeout=10).close()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
