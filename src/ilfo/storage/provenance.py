"""Provenance: the git commit and the package versions that a file was made with."""

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path


def commit() -> str | None:
    """The git commit of the checkout that this code runs from; '+' marks uncommitted changes.

    None if the package was installed without its repository.
    """
    return _revision("HEAD")


def source() -> str | None:
    """As `commit`, but a hash of the package's files alone: equal for commits that differ only
    in results or documentation."""
    return _revision("HEAD:./")


@functools.cache
def _revision(of: str) -> str | None:
    """Cached, because a process keeps running the code it has loaded, whatever is checked out
    later."""
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
    """Versions of Python and of the packages that a run depends on."""
    packages = ("ilfo", "jax", "jaxlib", "equinox", "optax", "gymnasium", "mujoco", "numpy")
    installed = {name: _version(name) for name in packages}
    return {"ilfo": installed.pop("ilfo"), "python": platform.python_version(), **installed}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "0+unknown"  # run from a source tree that was never installed
