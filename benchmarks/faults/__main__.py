"""A campaign of faults: kills, damaged files, failing environments, full disks.

    python -m benchmarks.faults [--seed 0] [--kills 200] [--files 10000]

Every case counts as survived (for a run: resumed to the same bits), as a clear error, or as a
defect: a traceback, a crash, a hang, too much memory, damage that nobody noticed. The exit code is
1 if there is a defect. The same seed makes the same cases, but for the moments of kills at any
time. Damaged files that are defects stay in the folder that is printed.
"""

import argparse
import os
import random
import shutil
import sys
import time
from typing import Any

# One thread, so that children can be forked, and quick to compile; before JAX is imported.
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 "
    "--xla_cpu_multi_thread_eigen=false"
)
os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot  # noqa: F401 - once for all children
from rich.console import Console
from rich.table import Table

from benchmarks.faults.files import files
from benchmarks.faults.kills import kills
from benchmarks.faults.outcomes import CLEAR, DEFECT, SURVIVED, Report
from benchmarks.faults.small_run import SmallRun
from benchmarks.faults.surroundings import environments, full_disks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--environments", type=int, default=36, help="runs that fail once")
    parser.add_argument("--disks", type=int, default=10, help="runs on a disk that is full")
    args = parser.parse_args()
    report, small, began = Report(), SmallRun(), time.monotonic()

    def run(stage: str, faults: Any, count: int) -> None:
        said = faults(small, count, random.Random(f"{args.seed} {stage}"), report)
        print(f"{stage}: {said or 'done'}, {time.monotonic() - began:.0f} s", flush=True)

    run("kills", kills, args.kills)
    run("environments", environments, args.environments)
    run("full disks", full_disks, args.disks)
    run("files", files, args.files)
    show(report)
    if report.defects:
        sys.exit(f"{len(report.defects)} defects; damaged files are in {small.folder}")
    shutil.rmtree(small.folder)


def show(report: Report) -> None:
    table = Table("fault", SURVIVED, CLEAR, DEFECT)
    for fault, counts in report.counts.items():
        table.add_row(fault, *(str(counts[kind]) for kind in (SURVIVED, CLEAR, DEFECT)))
    table.add_section()
    kinds = (SURVIVED, CLEAR, DEFECT)
    total = [sum(counts[kind] for counts in report.counts.values()) for kind in kinds]
    table.add_row("all", *map(str, total))
    Console().print(table)
    for defect in report.defects[:20]:
        print(f"\n{defect}")


if __name__ == "__main__":
    main()
