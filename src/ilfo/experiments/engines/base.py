"""The interface of what runs the jobs of a sweep, and the records that go through it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self


class Job(NamedTuple):
    """A run to be done, as plain data that can be sent to any node."""

    name: str
    kind: str
    """What to do, a name in `ilfo.experiments.work.KINDS`."""
    arguments: dict[str, Any]
    """Of that function; JSON, paths absolute."""
    folder: str
    """The run directory, an absolute path. The log is beside it."""
    cpus: int = 1
    """Number of cores to run on."""
    shared_mark: str | None = None
    """A file of the driver. A node that does not see it shares no storage with the driver, and
    sends the run directory back. None if the run directory may stay where it is."""
    store: str | None = None
    """URL of the copy that the run leaves after every iteration and goes on from; None for none."""

    @property
    def log(self) -> Path:
        """File for what the run prints."""
        return Path(f"{self.folder}.log")


class Event(NamedTuple):
    """Something that has happened to a job."""

    job: Job
    state: Literal["started", "done", "failed", "lost"]
    """`lost` if the node or its process is gone; the job can be submitted again."""
    where: str = ""
    """Node and process, in words."""
    said: str = ""
    """Why it failed or was lost, one line."""
    product: Any = None
    """What the job's function returned."""
    files: dict[str, bytes] | None = None
    """The run directory, if the node shares no storage with the driver."""


class Engine(ABC):
    """Runs jobs somewhere. As a context manager, it ends all that still run when it is left."""

    @abstractmethod
    def submit(self, jobs: Sequence[Job]) -> None:
        """Add jobs; they start when there is room."""

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """What happens to the jobs, as it happens, until each is done, failed or lost. Meanwhile
        more jobs can be submitted."""

    @abstractmethod
    def cancel(self) -> None:
        """End all jobs, running or not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
