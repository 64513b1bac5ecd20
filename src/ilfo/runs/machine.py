"""Threads, devices and the compilation cache; set by commands, never on import.

Results are only bit-identical for the same threads and devices, so a run records them.
"""

import os
import platform
import sys
import warnings
from pathlib import Path

import jax

from ilfo.common.devices import devices as existing_devices


def set_up(devices: int | None = None) -> dict[str, int]:
    """Use one JAX device per core and cache compiled code on disk.

    Call it before the first computation. Returns the numbers of threads and devices, or raises
    MissingDeviceError.
    """
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices = devices or threads or 1
    jax.config.update("jax_num_cpu_devices", devices)
    _keep_compiled_code()
    existing_devices()
    return {"threads": threads or 1, "devices": devices}


def _keep_compiled_code() -> None:
    """Use the compilation cache; without it everything works, and starts more slowly."""
    try:
        directory = cache_directory()
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home
        warnings.warn(
            f"compiled code is not kept for the next run: {error}; set XDG_CACHE_HOME to a folder "
            "that you may write to",
            stacklevel=3,
        )
        return
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def cache_directory() -> Path:
    """Folder of compiled code, readable and writable by the user alone, since code is executed."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "ilfo" / "compiled"
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def peak_memory() -> float | None:
    """Peak memory of this process in GiB; None if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    per_gib = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_gib


def processor() -> str:
    """Model name of the processor, or its architecture if the name is unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
