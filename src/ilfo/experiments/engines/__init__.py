"""Engines: local processes, Ray or slurm run the jobs of a sweep, behind one interface.

A job is plain data (`Job`): the name of a function in `ilfo.experiments.work`, and its arguments.
An `Engine` takes jobs, says what happens to them as it happens, and can end them all. Wherever a
job runs, it has a process of its own with as many cores as it was asked to use. What comes back is
written by the process that drives the engine, and by no other.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.experiments.engines.base import Engine, Event, Job
    from ilfo.experiments.engines.local import LocalEngine
    from ilfo.experiments.engines.ray import RayEngine
    from ilfo.experiments.engines.slurm import SlurmEngine

__all__ = ["Engine", "Event", "Job", "LocalEngine", "RayEngine", "SlurmEngine"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Engine": "base",
        "Event": "base",
        "Job": "base",
        "LocalEngine": "local",
        "RayEngine": "ray",
        "SlurmEngine": "slurm",
    },
)
