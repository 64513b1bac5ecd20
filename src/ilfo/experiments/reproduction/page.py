"""All figures and tables in one HTML page."""

from collections.abc import Iterator
from pathlib import Path

from ilfo.experiments.reproduction.exhibit import Exhibit, read_exhibit
from ilfo.experiments.reproduction.origin import origin_line
from ilfo.experiments.reproduction.writing import drawn
from ilfo.reports import html
from ilfo.reports.figures import as_svg

TITLE = "The figures and tables of the MobILE paper, again"
LONG = 40
"""Rows above which the numbers are folded."""
ABOUT = (
    "Scores are returns relative to the expert's, so that the expert has 1. MobILE is our default "
    "preset, which infers actions; the paper's settings are beside it. Bands and whiskers are 95 "
    "% bootstrap intervals of the mean over seeds. With fewer than three seeds there is no band, "
    "and whiskers are the range. A star, dashes and hatching mark what was measured with earlier "
    "settings. The sentences on what agrees with the paper are computed from these numbers. Where "
    "they say better, worse, sooner or later, a one-sided permutation test over seeds has p < "
    "0.05, not corrected for the number of comparisons; 'as good as' means that neither is "
    "better."
)


def reproduction_page(exhibits: list[Exhibit], results: Path) -> str:
    """A self-contained page: each figure with its finding, numbers, origin and command."""
    sections = [part for exhibit in exhibits for part in _section(exhibit, results)]
    commands = [f"ilfo reproduce {exhibit.name}" for exhibit in exhibits]
    return html.page(
        TITLE,
        html.paragraph(ABOUT),
        *sections,
        html.heading("Commands"),
        html.paragraph(
            "Each runs what has no result yet, continues what was stopped, and writes the figure "
            "as PNG, SVG and CSV:"
        ),
        html.code("\n".join(commands)),
        html.paragraph("What has no result yet, and this page again:"),
        html.code("ilfo reproduce --check\nilfo reproduce --report FOLDER"),
    )


def _section(exhibit: Exhibit, results: Path) -> Iterator[str]:
    measured = read_exhibit(exhibit, results)
    yield html.heading(f"{_spoken(exhibit.name)}: {exhibit.title}")
    shown = [each for each in measured if each.records]
    if exhibit.panels and not shown:
        yield html.paragraph(f"No results yet; run: ilfo reproduce {exhibit.name}")
        return
    yield html.paragraph(exhibit.finding(measured))
    line = origin_line(measured, results)
    yield html.svg(as_svg(lambda: drawn(exhibit, measured, "")), exhibit.title)
    rows = exhibit.rows(measured)
    numbers = html.table(rows[0], rows[1:])
    yield html.folded("The numbers", numbers) if len(rows) > LONG else numbers
    yield html.note(line)
    yield html.code(f"ilfo reproduce {exhibit.name}")


def _spoken(name: str) -> str:
    return name.replace("-", " ").capitalize()
