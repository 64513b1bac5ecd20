"""Threads, devices and the compilation cache: set by commands, never on import.

All three are part of 'the same machine' for bit-identical results, so a run records them.
"""

import os
import platform
import sys
from pathlib import Path

import jax


def set_up(devices: int | None = None) -> dict[str, int]:
    """Use one host device per core, and keep compiled code for the next run.

    Must come before the first computation. Returns what a run records.
    """
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices = devices or threads or 1
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_compilation_cache_dir", str(cache_directory()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return {"threads": threads or 1, "devices": devices}


def cache_directory() -> Path:
    """Compiled code is executable: the directory belongs to the user alone, never to a run."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "ilfo" / "compiled"
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def peak_memory() -> float | None:
    """GiB that this process has held at most; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    per_gib = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_gib


def processor() -> str:
    """What the processor calls itself, or its kind where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
