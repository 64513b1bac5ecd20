"""Loading trained agents from run directories and from files."""

from pathlib import Path

from ilfo.agents.agent import Agent
from ilfo.environments.factory import Environment
from ilfo.methods import METHODS
from ilfo.runs.checks import check_env, check_progress
from ilfo.runs.directory import RunDirectory
from ilfo.runs.spec import spec_of
from ilfo.storage.checkpoint import CheckpointError, read_meta


def load_best(path: Path, trust_env: str | None = None) -> Agent:
    """Load the selected policies of a run.

    The agent can predict and play episodes. Its demonstrations are not read. `trust_env` is the
    module that the id of the run's environment may import.
    """
    run = RunDirectory.open(path)
    spec = spec_of(run)
    check_env(run.path, spec.environment(), trust_env)
    return load_agent(_checkpoint(run), spec.environment())


def load_policies(path: Path) -> Agent:
    """As `load_best`, but the agent can only predict: no environment is made."""
    return load_agent(_checkpoint(RunDirectory.open(path)))


def _checkpoint(run: RunDirectory) -> Path:
    """The checkpoint; in a directory of before there was one file for all, it may be the other."""
    if run.checkpoint.exists():
        run.check_files()
        return run.checkpoint
    if (run.path / "best.npz").exists():
        return run.path / "best.npz"
    check_progress(run, 0)
    raise CheckpointError(f"{run.path} has no checkpoint yet; its first iteration has not finished")


def load_agent(path: Path, environment: Environment | None = None) -> Agent:
    """Load an agent from a file; the file says which method it is of."""
    method = read_meta(path).get("method")
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise CheckpointError(
            f"{path} holds an agent of the unknown method {method!r}; known methods are {known}"
        )
    return METHODS[method].load(path, environment)
