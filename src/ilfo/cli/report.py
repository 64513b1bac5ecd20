"""`ilfo report` and `ilfo compare`."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.console import console, say
from ilfo.common.text_tables import print_table
from ilfo.reports.comparison import comparison_table
from ilfo.reports.figures import comparison_figure, save_figure
from ilfo.reports.groups import group_runs
from ilfo.reports.measures import mmd_note
from ilfo.reports.page import comparison_page, report_page
from ilfo.reports.records import read_run
from ilfo.storage.atomic import atomic_write_text, require_new


@dataclass(frozen=True)
class Report:
    """Write a report of a run, or of several, as one HTML file."""

    run_directories: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories, finished or not."""
    out: Path | None = None
    """The file to write, new; by default report.html in the run directory."""
    replace: bool = False
    """Write over a report that is there already."""
    film: bool = True
    """Film the expert's recorded states beside an episode of the learner."""
    trust_env: str | None = None
    """Module or file whose code the run's environment may run, e.g. my_package for
    my_package:MyEnv-v0, my_env.py for my_env.py:MyEnv."""

    def run(self) -> None:
        if not self.run_directories:
            raise ValueError("give a run directory, such as runs/mine")
        if self.out is None and len(self.run_directories) > 1:
            raise ValueError(
                "a report of several runs belongs to none of them; add --out FILE.html"
            )
        out = self.out or self.run_directories[0] / "report.html"
        runs = [read_run(path) for path in self.run_directories]
        check_out(out, (".html",), replace=self.replace, hint=", or --replace it")
        left_out: list[str] = []
        with console.status("", spinner="dots") as status:
            text = report_page(
                runs,
                film=self.film,
                trust_env=self.trust_env,
                doing=lambda path: status.update(f"playing {path}"),
                missing=left_out.append,
            )
        atomic_write_text(out, text)
        for reason in left_out:
            say(f"{reason} Then write the report again: --replace")
        say(f"report: {out}")


@dataclass(frozen=True)
class Compare:
    """Compare runs: a table and learning curves, grouped by what differs."""

    run_directories: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories, finished or not."""
    out: Path | None = None
    """Also write the learning curves to this new file (.png, .svg), with the table (.html)."""

    def run(self) -> None:
        if not self.run_directories:
            raise ValueError("give run directories, such as runs/one runs/other")
        if self.out is not None:
            check_out(self.out, (".html", ".png", ".svg"))
        groups = group_runs([read_run(path) for path in self.run_directories])
        columns, rows = comparison_table(groups)
        environments = {group.environment for group in groups}
        title = environments.pop() if len(environments) == 1 else None
        print_table(console, [columns, *rows], title, wrap=True)
        if note := mmd_note(groups):
            say(note)
        if self.out is None:
            return
        if self.out.suffix.lower() == ".html":
            atomic_write_text(self.out, comparison_page(groups))
        else:
            save_figure(comparison_figure(groups), self.out)
        say(f"learning curves: {self.out}")


def check_out(
    path: Path, suffixes: tuple[str, ...], *, replace: bool = False, hint: str = ""
) -> None:
    """Before any work; `hint` is what else can be done about a file that exists."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in {' or '.join(suffixes)}")
    if replace and path.is_file():
        return
    try:
        require_new(path)
    except FileExistsError as error:
        raise FileExistsError(f"{error}{hint}") from None


COMMANDS = {"report": Report, "compare": Compare}
