"""What runs on a node of a Ray cluster."""

from collections.abc import Iterator
from typing import Any

from ilfo.experiments.engines.base import Job
from ilfo.experiments.engines.process import JobProcess


def run_job(job: dict[str, Any], code: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Run a job in a process of its own; says first where, then how it has ended."""
    import ray  # only what a node of a cluster has

    process = JobProcess(Job(**job), code)
    node = ray.get_runtime_context().get_node_id()
    yield {"where": f"{process.where}, node {node[:8]}"}
    process.wait()
    yield process.answer()
