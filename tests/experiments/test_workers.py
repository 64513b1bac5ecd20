"""Processes side by side: who runs where, and what happens to those that fail."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from ilfo.experiments import workers
from ilfo.experiments.workers import Job, cores, work_through


def job(tmp_path, name: str) -> Job:
    return Job(name, (name,), tmp_path / f"{name}.log")


def test_every_job_runs_once_and_failures_are_named(tmp_path, monkeypatch):
    ran = []
    run = lambda job, core: ran.append(job.name) or job.name == "bad"
    monkeypatch.setattr(workers, "_run", run)
    said, done = [], []
    jobs = [job(tmp_path, name) for name in ("a", "bad", "b")]
    assert work_through(jobs, 2, said.append, done.append) == ["bad"]
    assert sorted(ran) == ["a", "b", "bad"]
    assert "bad failed" in " ".join(said)
    assert sorted(done) == ["a", "b"]


def test_jobs_at_the_same_time_have_cores_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: [3, 5])
    together, used = threading.Barrier(2, timeout=30), []

    def meet(job, core):
        together.wait()
        used.append(core)
        return 0

    monkeypatch.setattr(workers, "_run", meet)
    assert work_through([job(tmp_path, name) for name in "ab"], 2, lambda text: None, print) == []
    assert sorted(used) == [3, 5]


def test_a_command_that_fails_leaves_its_words_in_the_log(tmp_path):
    bad = Job("bad", ("bench", "run", "none", "--seed", "0"), tmp_path / "logs" / "bad.log")
    assert work_through([bad], 1, lambda text: None, print) == ["bad"]
    assert "unknown sweep 'none'" in bad.log.read_text()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_only_cores_that_this_process_may_use_are_used():
    assert set(cores()) == os.sched_getaffinity(0)


ALONE = """
import sys
from pathlib import Path
from ilfo.experiments.workers import Job, work_through
sys.executable = sys.argv[1]
work_through([Job("long", (), Path(sys.argv[2]))], 1, print, print)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends orphans")
def test_nobody_goes_on_when_the_sweep_is_killed(tmp_path):
    worker, born = tmp_path / "worker", tmp_path / "born"
    worker.write_text(f"#!/bin/sh\necho $$ > {born}.new\nmv {born}.new {born}\nexec sleep 300\n")
    worker.chmod(0o755)
    command = (sys.executable, "-c", ALONE, str(worker), str(tmp_path / "log"))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as sweep:
        wait_for(born.exists)
        pid = int(born.read_text())
        assert running(pid)
        sweep.send_signal(signal.SIGKILL)
    wait_for(lambda: not running(pid))


def running(pid: int) -> bool:
    """Neither gone nor only waiting to be buried."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(event, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not event():
        assert time.monotonic() < deadline
        time.sleep(0.02)
