"""`ilfo sweep`."""

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.console import say
from ilfo.cli.engines import EngineOptions, check_folder
from ilfo.experiments.engines.base import Event
from ilfo.experiments.sweep_file import read_sweep
from ilfo.experiments.sweep_folder import marked_folder, missing_runs, open_folder, write_run


@dataclass(frozen=True)
class Sweep(EngineOptions):
    """Train all runs of a sweep that a TOML file describes.

    Everything is checked before the first run starts. It can be stopped at any time; the same
    command continues it.
    """

    file: tyro.conf.Positional[Path]
    """The TOML file: method, task or env and demos, settings, a grid or a list of them, seeds."""
    out: Path | None = None
    """Folder of the run directories; by default runs/NAME, after the file."""

    def run(self) -> None:
        self.check_engine()
        out = self.out or Path("runs") / self.file.stem
        check_folder(out, "out")
        sweep = read_sweep(self.file)
        sweep.check()
        open_folder(out, sweep, self.cpus_per_run)
        missing = missing_runs(out, sweep)
        with marked_folder(out) if self.on == "ray" else nullcontext() as mark:
            jobs = [sweep.job(run, out, self.cpus_per_run, mark) for run in missing]
            self.run_jobs(jobs, out, _keep)
        say(f"{len(sweep.runs)} run directories; to compare them: ilfo compare {_shell(out)}/*/")


def _keep(event: Event) -> None:
    if event.files is not None:
        write_run(Path(event.job.folder), event.files)


def _shell(path: Path) -> str:
    return shlex.quote(str(path))


COMMANDS = {"sweep": Sweep}
