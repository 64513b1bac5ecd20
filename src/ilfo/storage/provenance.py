"""Which code made a file: the commit of the checkout, and the versions of what it depends on."""

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path


def commit() -> str | None:
    """The commit of the checkout that this code runs from; '+' marks changes on top of it.

    None where the package was installed without its repository.
    """
    return _revision("HEAD")


def source() -> str | None:
    """As `commit`, but of the package's own files alone: the same for commits that differ in
    results or pages only."""
    return _revision("HEAD:./")


@functools.cache
def _revision(of: str) -> str | None:
    """Asked once per process, which goes on with the code it has loaded whatever is checked out
    meanwhile."""
    here = Path(__file__).parents[1]

    def git(*args: str) -> str:
        return subprocess.run(
            ("git", *args), cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) / "src" / "ilfo" != here:
            return None
        return git("rev-parse", of) + ("+" if git("status", "--porcelain", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def versions() -> dict[str, str]:
    """What a run depends on beside its config, by version."""
    packages = ("ilfo", "jax", "jaxlib", "equinox", "optax", "gymnasium", "mujoco", "numpy")
    found = {name: _version(name) for name in packages}
    return {"ilfo": found.pop("ilfo"), "python": platform.python_version(), **found}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "0+unknown"  # run from a source tree that was never installed
