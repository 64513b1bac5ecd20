"""The engine of slurm on submitit's own local executor, which queues and requeues like slurm."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from ilfo.experiments.driving import drive
from ilfo.experiments.engines.base import Job
from ilfo.experiments.engines.slurm import SlurmEngine
from tests.helpers.sweeps import wait_for

pytest.importorskip("submitit")


def test_a_failed_job_is_named_with_its_error(tmp_path):
    arguments = {"sweep": "none", "cell": "x", "seed": 0, "runs": str(tmp_path)}
    job, heard = Job("bad", "cell", arguments, str(tmp_path / "bad")), []
    with SlurmEngine(tmp_path / ".submitit", cluster="local") as engine:
        assert drive(engine, [job], lambda event: None, heard.append) == ["bad"]
    assert heard[-1].said.startswith("unknown sweep 'none'")
    assert "unknown sweep 'none'" in job.log.read_text()


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_preempted_job_goes_on(tmp_path, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    changes = ["passes=80", "every=1", "episodes=1", "policy.width=8", "policy.depth=1"]
    spec = {"method": "bc", "task": "cartpole", "trajectories": 1, "changes": changes}
    out = tmp_path / "run"
    arguments = {"spec": spec, "evaluate_every": 1000, "out": str(out)}
    job, done = Job("run", "run", arguments, str(out)), []
    table = out / "metrics.csv"
    with SlurmEngine(tmp_path / ".submitit", cluster="local") as engine:

        def preempt() -> None:
            wait_for(lambda: table.exists() and table.read_text().count("\n") > 3, 300)
            (handle,) = engine._handles
            (task,) = children(int(handle.job_id))
            os.kill(task, signal.SIGUSR2)  # as slurm warns a job that it preempts

        threading.Thread(target=preempt).start()
        assert drive(engine, [job], done.append) == []
    assert len(done) == 1
    logs = tmp_path.glob(".submitit/*/*_log.*")
    assert "this job is preempted" in "".join(path.read_text() for path in logs)
    assert done[0].product["threads"] == 1
    assert table.read_text().count("\n") == 1 + 81


def test_slurm_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="there is no slurm here"):
        SlurmEngine(tmp_path / "folder")


def test_an_unknown_option_is_named(tmp_path):
    with pytest.raises(ValueError, match="--slurm: Unknown argument 'partitoin'"):
        SlurmEngine(tmp_path, options={"partitoin": "gpu"}, cluster="local")
