"""A real Ray cluster of two nodes: one is killed in mid-run, and nothing of the result changes."""

import os
import re
import sys
import threading
from pathlib import Path

import pytest

from ilfo.experiments.driving import drive
from ilfo.experiments.engines.local import LocalEngine
from ilfo.experiments.engines.ray import RayEngine
from ilfo.experiments.sweep_file import read_sweep
from ilfo.experiments.sweep_folder import marked_folder, write_run
from tests.helpers.sweeps import running, wait_for

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

ITERATIONS = 80
SWEEP = f"""
method = "bc"
task = "cartpole"
trajectories = 1
seeds = 2
evaluate_every = 1000

[settings]
passes = {ITERATIONS - 1}
every = 1
episodes = 1
policy.width = 8
policy.depth = 1
"""


@pytest.fixture
def cluster(cache_home, monkeypatch):
    """Two nodes with one CPU each; the first is the head."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_log_monitor": False}
    head = {"include_dashboard": False, "no_monitor": True} | node
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    made.other = made.add_node(**node)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SWEEP)
    return read_sweep(path)


def test_runs_on_a_cluster_of_their_own_have_their_full_share_of_the_processor():
    with RayEngine("local"):
        niceness = ray.get(ray.remote(num_cpus=1)(lambda: os.nice(0)).remote())
    assert niceness == os.nice(0)


def jobs_of(sweep, out: Path, mark: Path | None = None):
    return [sweep.job(run, out, cpus=1, mark=mark) for run in sweep.runs]


def rows(out: Path, name: str) -> int:
    table = out / name / "metrics.csv"
    return table.read_text().count("\n") - 1 if table.exists() else 0


@pytest.mark.slow
def test_a_node_that_is_killed_changes_nothing(cluster, sweep, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    with LocalEngine() as engine:
        assert drive(engine, jobs_of(sweep, here), keep=lambda event: None) == []
    heard, before = [], {}

    def kill(name: str) -> None:
        wait_for(lambda: rows(there, name) > 2, 300)
        before[name] = rows(there, name)
        cluster.remove_node(cluster.other, allow_graceful=False)

    def watch(event) -> None:
        heard.append(event)
        if event.state == "started" and cluster.other.node_id[:8] in event.where and not before:
            threading.Thread(target=kill, args=(event.job.name,)).start()

    with RayEngine(cluster.address) as engine:
        assert engine.largest["CPU"] == 1
        assert drive(engine, jobs_of(sweep, there), lambda event: None, watch) == []

    (lost,) = (event for event in heard if event.state == "lost")
    assert 2 < before[lost.job.name] < ITERATIONS, "it was killed in mid-run"
    printed = re.findall(r"^iteration (\d+)\b", lost.job.log.read_text(), re.M)
    assert printed.count("1") == 1, "it went on from its checkpoint, not from the beginning"
    assert printed[-1] == str(ITERATIONS)
    for run in sweep.runs:
        same = [(out / run.name / "metrics.csv").read_bytes() for out in (here, there)]
        assert same[0] == same[1]
        assert same[0].count(b"\n") == 1 + ITERATIONS


@pytest.mark.slow
def test_cancelling_ends_the_processes_and_folders_come_back(cluster, sweep, tmp_path):
    """A node that shares no storage with the driver sends the run directory; here one that does
    not find the driver's mark."""
    out, events = tmp_path / "out", []
    with marked_folder(tmp_path) as mark:
        pass
    engine = RayEngine(cluster.address)
    engine.submit(jobs_of(sweep, out, mark))
    for event in engine.events():
        events.append(event)
        if event.state == "done":
            break
    assert event.files is not None
    write_run(tmp_path / "copy", event.files)
    original = out / event.job.name
    for name in ("config.json", "metrics.csv", "last.npz", "summary.json"):
        assert (tmp_path / "copy" / name).read_bytes() == (original / name).read_bytes()

    engine.submit([job._replace(folder=f"{job.folder}-b") for job in jobs_of(sweep, out)])
    started = next(x for x in engine.events() if x.state == "started")
    pid = int(started.where.split("process ")[1].split(",")[0])
    assert running(pid)
    engine.cancel()
    wait_for(lambda: not running(pid))


def test_a_cluster_that_is_not_there_is_said():
    with pytest.raises(ValueError, match="there is no Ray cluster at 'localhost:1'"):
        RayEngine("localhost:1")
    with pytest.raises(ValueError, match="expected auto, local or HOST:PORT"):
        RayEngine("somewhere")
    with pytest.raises(ValueError, match="ray://host:1, a Ray Client; run the command on a node"):
        RayEngine("ray://host:1")
