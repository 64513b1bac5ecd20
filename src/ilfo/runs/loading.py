"""Loading trained agents from run directories and from files."""

from pathlib import Path

from ilfo.agents.agent import Agent
from ilfo.environments.factory import Environment
from ilfo.methods import METHODS
from ilfo.runs.directory import RunDirectory
from ilfo.runs.spec import spec_of
from ilfo.storage.checkpoint import CheckpointError, read_meta


def load_best(path: Path) -> Agent:
    """Load the selected policies of a run.

    The agent can predict and play episodes. Its demonstrations are not read.
    """
    run = RunDirectory.open(path)
    best, spec = run.path_of("best"), spec_of(run)
    if not best.exists():
        raise CheckpointError(f"{path} has no checkpoint yet; its first iteration has not finished")
    return load_agent(best, spec.environment())


def load_agent(path: Path, environment: Environment | None = None) -> Agent:
    """Load an agent from a file; the file says which method it is of."""
    method = read_meta(path).get("method")
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise CheckpointError(
            f"{path} holds an agent of the unknown method {method!r}; known methods are {known}"
        )
    return METHODS[method].load(path, environment)
