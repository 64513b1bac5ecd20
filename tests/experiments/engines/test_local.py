"""Local processes side by side: who runs where, and what happens to those that fail."""

import os
import signal
import subprocess
import sys

import pytest

from ilfo.experiments import driving
from ilfo.experiments.engines.base import Event, Job
from ilfo.experiments.engines.cores import cores
from ilfo.experiments.engines.local import LocalEngine
from tests.helpers.sweeps import as_worker, running, wait_for

SLEEPER = """
import sys, time
from ilfo.experiments.engines.child import end_with, json
end_with(json.loads(sys.argv[3])["parent"])
print("alive", flush=True)
time.sleep(300)
"""
CLAIMER = """
import json, os, sys, time
from ilfo.experiments.engines.cores import claim_cores
claim_cores(json.loads(sys.argv[3])["job"]["cpus"])
time.sleep(2)
json.dump({"product": sorted(os.sched_getaffinity(0))}, open(int(sys.argv[4]), "w"))
"""


def job(tmp_path, name: str, **more) -> Job:
    return Job(name, "cell", {}, str(tmp_path / name), **more)


def drive(engine, jobs, **more) -> tuple[list[Event], list[str]]:
    heard: list[Event] = []
    failed = driving.drive(engine, jobs, keep=lambda event: None, watch=heard.append, **more)
    return heard, failed


def test_every_job_runs_once_and_failures_are_named(tmp_path, monkeypatch):
    program = 'import sys, json; name = json.loads(sys.argv[3])["job"]["name"]\n'
    program += 'json.dump({"product": name}, open(int(sys.argv[4]), "w")) if name != "bad" else 1/0'
    monkeypatch.setattr(sys, "executable", as_worker(tmp_path, program))
    heard, failed = drive(LocalEngine(at_once=2), [job(tmp_path, x) for x in ("a", "bad", "b")])
    assert failed == ["bad"]
    done = {event.job.name: event.product for event in heard if event.state == "done"}
    assert done == {"a": "a", "b": "b"}
    assert sorted(event.job.name for event in heard if event.state == "started") == [
        "a",
        "b",
        "bad",
    ]
    (bad,) = (event for event in heard if event.state == "failed")
    assert "its process ended with 1" in bad.said
    assert "ZeroDivisionError" in (tmp_path / "bad.log").read_text()


@pytest.mark.skipif(len(cores()) < 2, reason="needs two cores")
def test_jobs_at_the_same_time_have_cores_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # no claims of other runs
    monkeypatch.setattr(sys, "executable", as_worker(tmp_path, CLAIMER))
    heard, _ = drive(LocalEngine(at_once=2), [job(tmp_path, x) for x in "ab"])
    used = [event.product for event in heard if event.state == "done"]
    assert [len(chosen) for chosen in used] == [1, 1]
    assert used[0] != used[1]
    heard, _ = drive(LocalEngine(cpus=2), [job(tmp_path, "c", cpus=2)])
    assert [len(event.product) for event in heard if event.state == "done"] == [2]


def test_a_job_that_fails_leaves_its_words_in_the_log(tmp_path):
    arguments = {"sweep": "none", "cell": "x", "seed": 0, "runs": str(tmp_path)}
    bad = Job("bad", "cell", arguments, str(tmp_path / "logs" / "bad"))
    heard, failed = drive(LocalEngine(at_once=1), [bad])
    assert failed == ["bad"]
    assert "unknown sweep 'none'" in bad.log.read_text()
    assert heard[-1].said.startswith("unknown sweep 'none'")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_only_cores_that_this_process_may_use_are_used():
    assert set(cores()) == os.sched_getaffinity(0)


def test_more_cores_than_there_are_cannot_be_asked_for():
    with pytest.raises(ValueError, match=r"--cpus-per-run is 10000, but this machine has \d+"):
        LocalEngine(cpus=10_000)


ALONE = """
import sys
import signal
from pathlib import Path
from ilfo.experiments.driving import drive
from ilfo.experiments.engines.base import Job
from ilfo.experiments.engines.local import LocalEngine
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
sys.executable = sys.argv[1]
with LocalEngine(at_once=1) as engine:
    drive(engine, [Job("long", "cell", {}, sys.argv[2])], print, lambda event: print(event.where))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends orphans")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nobody_goes_on_when_the_sweep_is_stopped(how, tmp_path):
    worker, log = as_worker(tmp_path, SLEEPER), tmp_path / "job.log"
    command = (sys.executable, "-uc", ALONE, worker, str(tmp_path / "job"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as sweep:
        wait_for(lambda: log.exists() and log.read_text())
        assert sweep.stdout is not None
        pid = int(sweep.stdout.readline().split()[-1])
        assert running(pid)
        sweep.send_signal(how)
    wait_for(lambda: not running(pid))


class Losing(LocalEngine):
    """An engine whose node is lost for the first times."""

    def __init__(self, times: int):
        super().__init__(at_once=1)
        self.left, self.queue = times, []

    def submit(self, jobs):
        self.queue += jobs

    def events(self):
        while self.queue:
            job = self.queue.pop(0)
            yield Event(job, "started", "a node")
            if self.left:
                self.left -= 1
                yield Event(job, "lost", "a node", "it is gone")
            else:
                yield Event(job, "done", "a node", product=1)


def test_a_lost_job_is_run_again_but_not_for_ever(tmp_path):
    heard, failed = drive(Losing(2), [job(tmp_path, "a")], retries=2)
    assert failed == []
    assert [event.state for event in heard].count("lost") == 2
    assert heard[-1].state == "done"
    heard, failed = drive(Losing(3), [job(tmp_path, "a")], retries=2)
    assert failed == ["a"]
    assert "lost 3 times, the last time: it is gone" in heard[-1].said
