"""The engine of slurm, by submitit: one task of a job array per job."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ilfo.common.optional import needed_from
from ilfo.experiments.engines.base import Engine, Event, Job
from ilfo.experiments.engines.slurm_task import Task

PAUSE = 1.0
"""Seconds between two looks at the jobs."""
MINUTES = 720
"""Time limit of a job unless `options` has another `time`."""


class SlurmEngine(Engine):
    """Submits jobs to slurm. A preempted job, or one whose time is over, is queued again by
    submitit and resumes its run."""

    def __init__(
        self,
        folder: Path,
        cpus: int = 1,
        gpus: int = 0,
        options: Mapping[str, Any] | None = None,
        cluster: str = "slurm",
    ):
        """**Arguments**

        - `folder`: for the files of submitit; all nodes must see it.
        - `options`: of `sbatch`, by their names in submitit: `partition`, `time`, `account`.
        - `cluster`: `slurm`, or `local` for processes of this machine.
        """
        with needed_from("slurm", "--on slurm"):
            import submitit
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        try:
            self._executor = submitit.AutoExecutor(folder=folder / "%j", cluster=cluster)
            self._executor.update_parameters(
                name="ilfo",
                timeout_min=MINUTES,
                cpus_per_task=cpus,
                gpus_per_node=gpus or None,
                **{f"slurm_{name}": value for name, value in (options or {}).items()},
            )
        except RuntimeError as error:
            raise ValueError(
                "there is no slurm here: sbatch and srun were not found; run the command on a "
                "login node"
            ) from error
        except NameError as error:
            raise ValueError(f"--slurm: {str(error).splitlines()[0]}") from error
        self._errors = submitit.core.utils
        self._handles: dict[Any, Job] = {}
        self._told: set[str] = set()

    def submit(self, jobs: Sequence[Job]) -> None:
        with self._executor.batch():
            handles = [self._executor.submit(Task(), job._asdict()) for job in jobs]
        self._handles.update(zip(handles, jobs, strict=True))
        self._told -= {job.name for job in jobs}

    def events(self) -> Iterator[Event]:
        while self._handles:
            ended = [handle for handle in self._handles if handle.done()]
            for handle, job in self._handles.items():
                if handle.state == "RUNNING" and job.name not in self._told:
                    self._told.add(job.name)
                    yield Event(job, "started", _place(handle))
            for handle in ended:
                yield self._outcome(handle, self._handles.pop(handle))
            if not ended:
                time.sleep(PAUSE)

    def _outcome(self, handle: Any, job: Job) -> Event:
        where = _place(handle)
        try:
            said = handle.result()
        except self._errors.FailedJobError as error:
            return Event(job, "failed", where, f"{_last_line(error)}; see {handle.paths.stderr}")
        except self._errors.UncompletedJobError as error:
            return Event(job, "lost", where, str(error).partition("\n")[0])
        if "error" in said:
            return Event(job, "failed", where, said["error"])
        return Event(job, "done", where, product=said["product"])

    def cancel(self) -> None:
        for handle in self._handles:
            handle.cancel(check=False)
        self._handles.clear()


def _place(handle: Any) -> str:
    node = handle.get_info(mode="standard").get("NodeList", "this machine")
    return f"{node}, job {handle.job_id}"


def _last_line(error: Exception) -> str:
    """Of the traceback that submitit quotes between two rules."""
    trace = str(error).split("----------------------\n")[1]
    return trace.strip().splitlines()[-1]
