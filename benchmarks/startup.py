"""How long the commands that only print something take, beside importing NumPy.

    python -m benchmarks.startup [--turns 11]

Each measurement is a fresh process. The commands and `python -c "import numpy"` take turns; the
ratio is that of the medians. `ilfo --help` must take at most three times as long as NumPy's import;
if it takes longer, the exit code is 1. The other ratios are for information: `ilfo settings`
imports JAX.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table

NUMPY = ("-c", "import numpy")
COMMANDS = {
    'python -c "import numpy"': NUMPY,
    "ilfo --help": ("-m", "ilfo", "--help"),
    "ilfo tasks": ("-m", "ilfo", "tasks"),
    "ilfo settings": ("-m", "ilfo", "settings"),
}
LIMIT = 3.0


def seconds_of(arguments: tuple[str, ...]) -> float:
    began = time.perf_counter()
    subprocess.run((sys.executable, *arguments), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=11, help="measurements of each command")
    args = parser.parse_args()
    print("load average before:", *(f"{load:.1f}" for load in os.getloadavg()))
    for arguments in COMMANDS.values():  # files are read and compiled once before
        seconds_of(arguments)
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(args.turns):
        for name, arguments in COMMANDS.items():
            seconds[name].append(seconds_of(arguments))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    numpy = next(iter(medians.values()))
    table = Table("command", "median, s", "fastest, s", "ratio of medians")
    for name, median in medians.items():
        fastest = min(seconds[name])
        table.add_row(name, f"{median:.2f}", f"{fastest:.2f}", f"{median / numpy:.1f}")
    Console().print(table)
    if medians["ilfo --help"] > LIMIT * numpy:
        sys.exit(f"ilfo --help takes more than {LIMIT:g} times as long as importing NumPy")


if __name__ == "__main__":
    main()
