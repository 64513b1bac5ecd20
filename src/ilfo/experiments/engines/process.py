"""A job in a process of its own, on the node where this is called; all engines run jobs so.

One process per job: JAX sets its devices once per process, no run waits for a slower one, and a
result does not depend on how many others run at the same time.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ilfo.experiments.engines.base import Job

GRACE = 10.0
"""Seconds for a process to end by itself before it is killed."""
MODULE = "ilfo.experiments.engines.child"


class JobProcess:
    """A running job."""

    def __init__(self, job: Job, code: dict[str, Any] | None = None):
        """`code` has the source and the versions that must be installed here; None for any."""
        self.job = job
        job.log.parent.mkdir(parents=True, exist_ok=True)
        self._answer = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has ended
        given = {"job": job._asdict(), "code": code, "parent": os.getpid()}
        number = self._answer.fileno()
        with job.log.open("ab") as log:
            self._process = subprocess.Popen(
                (sys.executable, "-m", MODULE, json.dumps(given), str(number)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(number,),
                env=os.environ | {"OMP_NUM_THREADS": str(job.cpus)},
            )

    @property
    def where(self) -> str:
        return f"{socket.gethostname()}, process {self._process.pid}"

    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> None:
        self._process.wait()

    def stop(self) -> None:
        """End the process, gently at first."""
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def answer(self) -> dict[str, Any]:
        """What the ended process says: `product`, or `error`; and `files` if they are wanted."""
        self._answer.seek(0)
        text = self._answer.read()
        self._answer.close()
        code = self._process.returncode
        if not text:
            return {"error": f"its process {_ending(code)}; see {self.job.log}"}
        said: dict[str, Any] = json.loads(text)
        if "error" in said:
            return {"error": f"{said['error']}; see {self.job.log}"}
        if self.job.shared_mark is not None and not Path(self.job.shared_mark).exists():
            said["files"] = read_folder(Path(self.job.folder))
        return said


def _ending(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


def read_folder(folder: Path) -> dict[str, bytes]:
    """The files of a run directory, without its lock."""
    files = (path for path in folder.iterdir() if path.is_file() and path.name != ".lock")
    return {path.name: path.read_bytes() for path in files}
