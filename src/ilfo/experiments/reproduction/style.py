"""How all figures look: colours, panels, the legend and the line about their origin."""

import textwrap
from collections.abc import Sequence
from typing import Any

from ilfo.common.figures import make_figure
from ilfo.experiments.reproduction.exhibit import Rows

MOBILE = "MobILE"
PAPERS = "MobILE, paper's settings"
COLOURS = {
    MOBILE: "tab:red",
    PAPERS: "tab:brown",
    "BC": "tab:orange",
    "BC-O": "tab:green",
    "GAIL": "tab:purple",
    "GAIfO": "cornflowerblue",
    "ILPO": "tab:olive",
    "without optimism": "tab:gray",
    "paper's settings, without optimism": "black",
}
"""Of the series that several figures share; about the paper's."""
WIDE, HIGH, COLUMNS = 4.4, 3.3, 3
"""Size of a panel in inches, and panels in a row."""


def colour(label: str, place: int = 0) -> str:
    """A series' colour, by its name or else by its place."""
    return COLOURS.get(label, f"C{place % 10}")


def line_style(label: str, place: int, *, stale: bool) -> dict[str, Any]:
    """Of a curve: stale ones are dashed, and MobILE's is above the others."""
    return {
        "color": colour(label, place),
        "linestyle": (0, (4, 1.5)) if stale else "-",
        "zorder": 3 if label == MOBILE else 2,
    }


def panels(titles: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """A figure with one axis per title, the expert's score as a dashed line in each."""
    columns = min(COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    figure = make_figure(max(WIDE * columns, 7), HIGH * rows + 0.9)
    axes = figure.subplots(rows, columns, squeeze=False)
    for unused in axes.ravel()[len(titles) :]:
        unused.set_visible(False)
    by_title = dict(zip(titles, axes.ravel(), strict=False))
    for title, axis in by_title.items():
        axis.set(title=title)
        axis.axhline(1, color="black", linestyle="--", linewidth=1, label="expert")
    return figure, by_title


def add_legend(figure: Any) -> None:
    """One legend for all panels, below them, so that it covers no curve."""
    handles = {
        label: handle
        for axis in figure.axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize="small")


def add_origin(figure: Any, line: str) -> None:
    """The line about the origin, wrapped, above the panels in small print."""
    width = int(figure.get_figwidth() * 19)
    figure.suptitle(
        "\n".join(textwrap.wrap(line, width)), fontsize=6.5, color="0.35", x=0.01, ha="left"
    )


def table_figure(rows: Rows, size: float = 8) -> Any:
    """A table as a figure; the first row is the header."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    width = max(0.075 * size / 8 * sum(widths) + 0.3, 6)
    figure = make_figure(width, 0.24 * len(rows) + 0.5)
    axis = figure.subplots()
    axis.axis("off")
    table = axis.table(
        cellText=rows[1:],
        colLabels=rows[0],
        colWidths=[width / sum(widths) for width in widths],
        cellLoc="left",
        colLoc="left",
        loc="center",
        edges="horizontal",
    )
    table.auto_set_font_size(False)
    table.set_fontsize(size)
    table.scale(1, 1.15)
    for cell in table.get_celld().values():
        cell.set_linewidth(0.4)
    return figure
