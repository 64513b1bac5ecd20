"""The process of one job: `python -m ilfo.experiments.engines.child JOB ANSWER`.

JOB is JSON, ANSWER the number of an open file for the result. Only started by `JobProcess`.
"""

import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilfo.experiments.engines.base import Job
from ilfo.experiments.engines.cores import claim_cores

_PR_SET_PDEATHSIG = 1


def main(given: str, answer: str) -> int:
    """Run the job; returns the exit code."""
    order = json.loads(given)
    end_with(order["parent"])
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # slurm's warning is for the process above
    job = Job(**order["job"])
    try:
        claim_cores(job.cpus)
        said: dict[str, Any] = {"product": _run(job, order["code"])}
    except Exception as error:
        traceback.print_exc()
        said = {"error": one_line(error)}
    with open(int(answer), "w") as file:
        json.dump(said, file)
    return "error" in said


def end_with(parent: int) -> None:
    """On Linux, let this process end when its parent ends. Otherwise its cores and run directory
    would still be in use when the sweep is started again."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended already
        sys.exit(1)


def one_line(error: Exception) -> str:
    """What an error says, with its notes."""
    said = str(error) or type(error).__name__
    return " ".join("; ".join([said, *getattr(error, "__notes__", ())]).split())


def _run(job: Job, code: Mapping[str, Any] | None) -> Any:
    from ilfo.experiments.work import KINDS, check_code  # once the cores are set

    if code is not None:
        check_code(code)
    if job.store is None:
        return KINDS[job.kind](**job.arguments)
    from ilfo.experiments.store import Store

    store = Store(job.store, Path(job.folder))
    store.fetch()
    product = KINDS[job.kind](**job.arguments, callbacks=[store])
    store.keep()  # with what was written after the last iteration
    return product


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
