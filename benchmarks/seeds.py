"""Cost of several seeds in one process, and savings by the compilation cache.

    python -m benchmarks.seeds [--timesteps 20000] [--seeds 5]

Each measurement is a new process of `ilfo train`. The runs with one seed and with several seeds
start with an empty compilation cache. A last run repeats the first one with its cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def train(seeds: int, timesteps: int, folder: Path, cache: Path) -> tuple[float, float]:
    """Wall-clock seconds of the whole command, and of compilation alone."""
    out = folder / f"run-{time.monotonic_ns()}"
    command = ("-m", "ilfo", "train", "--seeds", str(seeds), "--out", str(out))
    began = time.perf_counter()
    subprocess.run(
        (sys.executable, *command, "--total-timesteps", str(timesteps)),
        env=os.environ | {"XDG_CACHE_HOME": str(cache)},
        check=True,
        capture_output=True,
    )
    seconds = time.perf_counter() - began
    return seconds, json.loads((out / "summary.json").read_text())["seconds"]["compile"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timesteps", type=int, default=20_000, help="environment steps per seed")
    parser.add_argument("--seeds", type=int, default=5, help="seeds to compare with one")
    args = parser.parse_args()
    print("load average before:", *(f"{load:.1f}" for load in os.getloadavg()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, compiling = train(1, args.timesteps, folder, folder / "a")
        several, compiling_several = train(args.seeds, args.timesteps, folder, folder / "b")
        again, compiling_again = train(1, args.timesteps, folder, folder / "a")
    for label, seconds, compile_seconds in (
        ("one seed", one, compiling),
        (f"{args.seeds} seeds", several, compiling_several),
        ("one seed again", again, compiling_again),
    ):
        print(f"{label:15}{seconds:6.1f} s, of which compiling {compile_seconds:5.1f} s")
    print(f"{args.seeds} seeds cost {several / one:.2f} times one seed, compile included")


if __name__ == "__main__":
    main()
