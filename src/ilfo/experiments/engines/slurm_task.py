"""What runs on a node of slurm."""

from typing import Any

from ilfo.experiments.engines.base import Job
from ilfo.experiments.engines.process import JobProcess


class Task:
    """Runs a job in a process of its own. Its method `checkpoint` tells submitit that the job may
    be queued again when slurm ends it early: the run resumes from its run directory."""

    def __call__(self, job: dict[str, Any]) -> dict[str, Any]:
        process = JobProcess(Job(**job))
        process.wait()
        return process.answer()

    def checkpoint(self, job: dict[str, Any]) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, job)
