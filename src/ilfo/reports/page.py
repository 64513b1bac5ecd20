"""A report of runs as one HTML file."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ilfo.common.figures import AT_ONE_PLACE
from ilfo.reports import html
from ilfo.reports.comparison import comparison_table
from ilfo.reports.figures import as_svg, comparison_figure
from ilfo.reports.groups import Group, group_runs
from ilfo.reports.measures import mmd_note
from ilfo.reports.records import RunRecord
from ilfo.reports.run_report import run_sections


def report_page(
    runs: Sequence[RunRecord],
    *,
    film: bool = True,
    trust_env: str | None = None,
    doing: Callable[[Path], None] = lambda _: None,
    missing: Callable[[str], None] = lambda _: None,
) -> str:
    """The report of a run, or of several with their comparison first. `trust_env` is the module
    that their environments may import; `doing` hears which run is read, `missing` what
    is left out."""
    parts: list[str] = []
    if len(runs) > 1:
        parts += [html.heading("Comparison"), *comparison_sections(group_runs(runs))]
    for run in runs:
        doing(run.path)
        if len(runs) > 1:
            parts.append(html.heading(f"Run {run.path.name}"))
        parts += run_sections(run, film=film, trust_env=trust_env, missing=missing)
    title = f"{runs[0].spec.method} on {runs[0].environment}" if len(runs) == 1 else "Runs"
    return html.page(title, *parts)


def comparison_page(groups: Sequence[Group]) -> str:
    """Table and curves of groups of runs."""
    return html.page("Comparison of runs", *comparison_sections(groups))


def comparison_sections(groups: Sequence[Group]) -> list[str]:
    """Their table and their curves."""
    places = f" {AT_ONE_PLACE}" if any(group.online_samples for group in groups) else ""
    note = mmd_note(groups)
    return [
        html.table(*comparison_table(groups)),
        *([html.note(note)] if note else []),
        html.note(
            "Runs that differ in their seeds alone are one row. Mean over seeds and, from three "
            "seeds on, its 95 % bootstrap interval."
        ),
        html.svg(
            as_svg(lambda: comparison_figure(groups)),
            "Learning curves: mean over seeds, with its 95 % interval, or the range of fewer than "
            f"three.{places}",
        ),
    ]
