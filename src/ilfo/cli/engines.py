"""Options of the commands that run sweeps: on which engine, with which resources."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ilfo.cli.console import console, say
from ilfo.cli.run_table import RunTable
from ilfo.common.optional import needed_from
from ilfo.experiments.driving import drive
from ilfo.experiments.engines.base import Engine, Event, Job
from ilfo.experiments.engines.local import LocalEngine
from ilfo.experiments.engines.ray import RayEngine
from ilfo.experiments.engines.slurm import SlurmEngine
from ilfo.experiments.store import open_store

LIBRARIES = {"ray": "ray", "slurm": "submitit"}
"""What an engine needs."""
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where the runs of a sweep are done."""

    on: Literal["local", "ray", "slurm"] = "local"
    """Processes of this machine, a Ray cluster (extra ray), or slurm (extra slurm)."""
    jobs: int | None = None
    """With local: runs at the same time; by default as many as there are cores for."""
    cpus_per_run: int = 1
    """Cores of each run; exact results depend on it."""
    gpus_per_run: float = 0
    """With ray and slurm: GPUs of each run."""
    address: str = "auto"
    """With ray: address of the cluster; auto for the one this machine belongs to, local for a new
    one on this machine alone."""
    slurm: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """With slurm: options of sbatch, e.g. partition=gpu time=600 account=lab (time in minutes)."""
    store: str | None = None
    """URL (s3://..., file://..., whatever fsspec opens) below which each run keeps a copy of its
    last checkpoint, to go on elsewhere when its node is lost and nodes share no folder (extra
    store)."""
    retries: int = 3
    """How often a run is repeated, from its last checkpoint, when its node is lost."""

    def check_engine(self) -> None:
        """Raise an error if options contradict each other, or the engine cannot be had here. Call
        it before anything is written."""
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"jobs is {self.jobs}, but must be at least 1")
        if self.cpus_per_run < 1:
            raise ValueError(f"--cpus-per-run is {self.cpus_per_run}, but must be at least 1")
        for name, least in (("gpus_per_run", 0), ("retries", 0)):
            if getattr(self, name) < least:
                option = name.replace("_", "-")
                raise ValueError(f"--{option} is {getattr(self, name)}, but must not be negative")
        if self.store is not None:
            open_store(self.store)
        self._check_belongs("jobs", self.jobs is not None, ("local",))
        self._check_belongs("gpus-per-run", self.gpus_per_run > 0, ("ray", "slurm"))
        self._check_belongs("address", self.address != "auto", ("ray",))
        self._check_belongs("slurm", bool(self.slurm), ("slurm",))
        if self.on == "slurm" and self.gpus_per_run != int(self.gpus_per_run):
            raise ValueError(f"--gpus-per-run is {self.gpus_per_run}; slurm has only whole GPUs")
        if self.on == "local":
            LocalEngine(self.cpus_per_run, self.jobs)  # starts nothing yet
        else:
            with needed_from(self.on, f"--on {self.on}"):
                import_module(LIBRARIES[self.on])

    def _check_belongs(self, name: str, given: bool, engines: tuple[str, ...]) -> None:
        if given and self.on not in engines:
            where = " or ".join(engines)
            raise ValueError(f"--{name} is for --on {where}, not for --on {self.on}; leave it out")

    def run_jobs(self, jobs: Sequence[Job], folder: Path, keep: Callable[[Event], None]) -> None:
        """Run all jobs, and raise ValueError with the names of those that failed."""
        if not jobs:
            say("all runs are done")
            return
        jobs = [self._stored(job, folder) for job in jobs]
        try:
            with self._engine(folder) as engine, RunTable(len(jobs), console) as table:
                failed = drive(engine, jobs, keep, table.show, self.retries)
        except KeyboardInterrupt:
            say("stopped, and so are all runs; the same command continues them")
            raise
        if failed:
            raise ValueError(f"{len(failed)} of {len(jobs)} runs failed: {', '.join(failed)}")

    def _stored(self, job: Job, folder: Path) -> Job:
        if self.store is None:
            return job
        place = Path(job.folder).relative_to(folder.resolve()).as_posix()
        return job._replace(store=f"{self.store.rstrip('/')}/{place}")

    def _engine(self, folder: Path) -> Engine:
        if self.on == "local":
            return LocalEngine(self.cpus_per_run, self.jobs)
        if self.on == "slurm":
            options = dict(map(_assignment, self.slurm))
            place = folder.resolve() / ".submitit"
            return SlurmEngine(place, self.cpus_per_run, int(self.gpus_per_run), options)
        engine = RayEngine(self.address, self.cpus_per_run, self.gpus_per_run)
        for name, wanted in (("CPU", self.cpus_per_run), ("GPU", self.gpus_per_run)):
            if wanted > engine.largest[name]:
                say(
                    f"no node of the cluster has {wanted:g} {name}s now, the most is "
                    f"{engine.largest[name]:g}; runs wait until one joins (Ctrl-C stops)"
                )
        return engine


def _assignment(text: str) -> tuple[str, int | str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--slurm {text!r} has no '='; expected NAME=VALUE, e.g. partition=gpu")
    return name, int(value) if value.isdecimal() else value


def check_folder(path: Path, option: str) -> None:
    """Raise ValueError for a URL."""
    if URL.match(str(path)):
        raise ValueError(
            f"--{option} is {path}, a URL; run directories are locked, appended to and replaced "
            "file by file, which object stores cannot do; name a folder, and have copies of the "
            "runs kept at the URL with --store"
        )
