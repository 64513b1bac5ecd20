"""Training runs that leave a directory behind: starting, resuming, recording and loading them.

`RunSpec` says what to train, `start` trains it into a new run directory and `resume` continues from
the last checkpoint. `load_best` and `load_agent` load what was trained, `diagnose` says what held a
run back. `TensorBoard` is a callback. `RunDirectory` reads and writes the files of a run.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.runs.csv_tables import RunError
    from ilfo.runs.directory import RunDirectory
    from ilfo.runs.doctor import diagnose
    from ilfo.runs.launch import TrainingError, resume, start
    from ilfo.runs.loading import load_agent, load_best, load_policies
    from ilfo.runs.spec import RunSpec
    from ilfo.runs.tensorboard import TensorBoard

__all__ = [
    "RunDirectory",
    "RunError",
    "RunSpec",
    "TensorBoard",
    "TrainingError",
    "diagnose",
    "load_agent",
    "load_best",
    "load_policies",
    "resume",
    "start",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "RunDirectory": "directory",
        "RunError": "csv_tables",
        "RunSpec": "spec",
        "TensorBoard": "tensorboard",
        "TrainingError": "launch",
        "diagnose": "doctor",
        "load_agent": "loading",
        "load_best": "loading",
        "load_policies": "loading",
        "resume": "launch",
        "start": "launch",
    },
)
